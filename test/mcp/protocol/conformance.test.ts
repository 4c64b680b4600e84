import { describe, expect, test } from "vitest";
import { baseline } from "../../conformance/baseline.ts";
import { runSuite, type Check } from "../../conformance/run-suite.ts";
import { serveFixtures } from "../../conformance/serve-fixtures.ts";

describe("the official conformance suite", () => {
  test.concurrent.each([
    { revision: "2025-11-25", scenarios: 33, passes: 74 },
    { revision: "2026-07-28", scenarios: 50, passes: 185 },
  ] as const)(
    "finds no unexpected failures for revision $revision",
    async ({ revision, scenarios, passes }) => {
      await using serving = await serveFixtures();
      const checks = await runSuite(serving.url, revision);
      const excused = baseline[revision].flatMap((absence) => absence.scenarios);
      const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");

      expect(bad.filter(({ scenario }) => !excused.includes(scenario))).toEqual([]);
      // The baseline must not list features that are supported by now.
      const missing = new Set(bad.map(({ scenario }) => scenario));
      expect(excused.filter((scenario) => !missing.has(scenario))).toEqual([]);
      expect(new Set(checks.map(({ scenario }) => scenario)).size).toBe(scenarios);
      expect(checks.filter(isPassed).length).toBeGreaterThanOrEqual(passes);
      expect(serving.reported).toEqual([]);
    },
  );
});

function isPassed({ status }: Check): boolean {
  return status === "SUCCESS";
}
