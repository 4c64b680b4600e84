import { expect, test } from "vitest";
import type { CountedVisit } from "../../../src/stats/visit.ts";
import { createAssistantWorld, type AssistantWorld } from "../../support/assistant-world.ts";
import { openForAll } from "../../support/open-for.ts";

/** Tests that one short answer of link_stats contains what an assistant needs. */

const day_ms = 24 * 60 * 60 * 1000;
const monday = Date.UTC(2026, 0, 5);
const september = Date.UTC(2025, 7, 31);

let assistant: AssistantWorld;
openForAll(createAssistantWorld, async (opened) => {
  assistant = opened;
  const { world, plant } = opened;
  const url = "https://shop.example/";
  for (let place = 0; place < 14; place += 1) {
    const name = place < 12 ? `Spring ${place}` : `Autumn ${place}`;
    const { id } = await plant("link", { path: `campaign/${place}`, name, url });
    for (let turn = 0; turn <= place * 3; turn += 1) {
      const at = monday + (turn % 12) * day_ms;
      const what: CountedVisit["what"] = turn % 9 === 8 ? "open" : "click";
      const facts = { platform: turn % 2 === 0 ? "ios" : "desktop", source: "address" } as const;
      world.clicks.noteReported({ projectId: world.project.id, linkId: id, what, at, ...facts });
    }
  }
  const { id } = await plant("link", { path: "busy", name: "Busy", url });
  for (let day = 0; day < 62; day += 1) {
    const seen = { projectId: world.project.id, linkId: id, at: september + day * day_ms } as const;
    const facts = { what: "click", platform: "desktop", source: "address" } as const;
    for (let turn = 0; turn < 300 + day; turn += 1) {
      world.clicks.noteReported({ ...seen, ...facts });
    }
  }
  await world.clicks.flush(world.project.id);
});

const spring = [{ field: "name", condition: "cont", value: "spring" }];
const lastWeek = { from: "2026-01-12", to: "2026-01-18" };

test("link_stats compares a week with the previous week in one call", async () => {
  const given = { filters: spring, ...lastWeek, compare: true };
  const { structured, isError, text } = await assistant.callTool("link_stats", given);
  expect(isError, text).toBe(false);
  const { stats } = structured;
  expect(stats).toMatchObject({ ...lastWeek, by: "day" });
  expect(stats.sentence).toMatch(
    /^The 12 links had 6\d clicks, 9 app opens.*, \d+% fewer than the 1\d\d from/,
  );
  expect(stats.previous).toMatchObject({ from: "2026-01-05", to: "2026-01-11" });
  expect(stats.rows).toHaveLength(7);
  expect(stats.rows[6]).toMatchObject({ key: "2026-01-18", clicks: 0 });
  expect(JSON.parse(text)).toEqual(structured);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1500);
});

test("link_stats grouped by link lists the top 10 links and combines the rest", async () => {
  const given = { ...lastWeek, from: "2026-01-01", by: "link", compare: true };
  const { structured, text } = await assistant.callTool("link_stats", given);
  const keys = structured.stats.rows.map(({ key }: { key: string }) => key);
  expect(keys).toHaveLength(11);
  expect([keys[0], keys.at(-1)]).toEqual(["/campaign/13", "other"]);
  const best = await assistant.callTool("link_stats", { id: keys[0], ...lastWeek });
  expect(best.structured.stats.sentence).toMatch(/^The link \/campaign\/13 had /);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1500);
});

test("link_stats for a month lists each day's clicks and the previous month's total", async () => {
  const given = { by: "day", compare: true, time_zone: "Europe/Berlin" };
  const month = { ...given, from: "2025-10-01", to: "2025-10-31" };
  const { structured } = await assistant.callTool("link_stats", month);
  const { total, previous, rows } = structured.stats;
  expect([total, previous.clicks]).toEqual([{ clicks: 346 * 31 }, 315 * 31]);
  expect(rows).toHaveLength(31);
  expect(rows[15]).toMatchObject({ key: "2025-10-16", clicks: 346 });
  expect(rows[15].previous).toBeGreaterThan(0);
});

test("link_stats for one link names its path and uses the requested time zone", async () => {
  const given = { id: "campaign/13", ...lastWeek, time_zone: "America/New_York" };
  const { structured } = await assistant.callTool("link_stats", given);
  expect(structured.stats.time_zone).toBe("America/New_York");
  // Midnight in London is still the previous evening in New York.
  expect(structured.stats.rows[0]).toMatchObject({ key: "2026-01-12", clicks: 2, opens: 1 });
});

test.each([
  ["from", { from: "x" }],
  ["to", { to: "x" }],
  ["time_zone", { time_zone: "Mars" }],
  ["from", { from: "2026-01-10", to: "2026-01-09" }],
  ["from", { from: "2010-01-10", to: "2026-01-09" }],
  ["by", { by: "hour", from: "2025-01-10" }],
])("link_stats returns an error that names the invalid field %s: %j", async (field, given) => {
  const { error } = await assistant.call("link_stats", given);
  expect(error.problems).toEqual([{ field, message: error.message }]);
  expect(error.next).toBe("Correct the fields named in `problems` and call link_stats again.");
});

test.each([
  [{ from: "last week" }, "validation_failed", /today.*not .*last week/],
  [{ by: "device" }, "invalid_arguments", /platform/],
  [{ id: "nowhere" }, "not_found", /nowhere/],
  [{ since: "2026-01-01" }, "invalid_arguments", /since/],
])("link_stats returns an error that says what to correct: %j", async (given, code, said) => {
  const { structured, isError } = await assistant.callTool("link_stats", given);
  expect(isError).toBe(true);
  expect(structured.error.code).toBe(code);
  expect(JSON.stringify(structured.error)).toMatch(said);
});
