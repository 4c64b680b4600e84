import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createServed, type Serving } from "../../support/command.ts";
import { createEmptyFolder } from "../../support/folders.ts";
import { openForwarder } from "../../support/ports.ts";
import { fetchNode } from "../../tools/fetch-node.js";

/** The official conformance suite, without scenarios that need its own example server. */

type Revision = "2025-11-25" | "2026-07-28";

const applicable: Readonly<Record<Revision, readonly string[]>> = {
  "2025-11-25": [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "server-session-lifecycle",
    "dns-rebinding-protection",
  ],
  "2026-07-28": [
    "server-stateless",
    "tools-list",
    "resources-list",
    "sep-2164-resource-not-found",
    "prompts-list",
    "caching",
    "server-sse-multiple-streams",
    "input-required-result-unsupported-methods",
    "http-header-validation",
    "dns-rebinding-protection",
  ],
};

test.concurrent.each(["2025-11-25", "2026-07-28"] as const)(
  "the official conformance scenarios for revision %s pass",
  async (revision) => {
    await using served = await createServed();
    await using proxy = await openProxy(served.serving);
    const scenarios = applicable[revision];
    const checks = await runSuite(`${proxy.url}/mcp`, revision);
    const bad = checks.filter(
      ({ scenario, status, message }) =>
        scenarios.includes(scenario) &&
        status === "FAILURE" &&
        // Single checks of a scenario may need a tool of the example server.
        !message.startsWith("Not testable"),
    );
    expect(bad).toEqual([]);
    const passed = checks.filter(({ status }) => status === "SUCCESS");
    const names = new Set(passed.map(({ scenario }) => scenario));
    expect(scenarios.filter((name) => !names.has(name))).toEqual([]);
  },
);

/** Adds the key to each request, because the suite cannot send one. */
function openProxy({ places, key }: Serving) {
  const headers = { authorization: `Bearer ${key}` };
  return openForwarder(() => ({ target: places.mcp, headers }));
}

type Check = {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly message: string;
};

async function runSuite(url: string, revision: Revision): Promise<readonly Check[]> {
  await using folder = await createEmptyFolder();
  const words = ["server", "--url", url, "--requirements", revision, "-o", folder.path];
  const child = spawn(findNode(), [suite, ...words], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  await once(child, "close");
  const scenarios = [...said.matchAll(/^=== Running scenario: (\S+) ===$/gm)];
  if (scenarios.length === 0) throw new Error(`the suite did not run: ${said}`);
  return scenarios.flatMap(([, scenario = ""]) => readChecks(folder.path, scenario));
}

const require = createRequire(import.meta.url);
const suite = join(
  require.resolve("@modelcontextprotocol/conformance/package.json"),
  "../dist/index.js",
);

/** The suite needs Node 22 or later. */
function findNode(): string {
  const [major] = process.versions.node.split(".").map(Number);
  return major !== undefined && major >= 22 ? process.execPath : fetchNode("22.23.3");
}

type CheckRow = {
  readonly id: string;
  readonly status: Check["status"];
  readonly name: string;
  readonly errorMessage?: string;
};

/** A scenario that was interrupted writes nothing, which counts as a failure. */
function readChecks(folder: string, scenario: string): readonly Check[] {
  const pattern = new RegExp(`^server-${scenario}-\\d{4}-\\d{2}-\\d{2}T`);
  const found = readdirSync(folder).find((name) => pattern.test(name));
  if (found === undefined) {
    return [{ scenario, id: "run", status: "FAILURE", message: "The scenario broke off." }];
  }
  const checks: CheckRow[] = JSON.parse(readFileSync(join(folder, found, "checks.json"), "utf8"));
  return checks.map(({ id, status, name, errorMessage = name }) => ({
    scenario,
    id,
    status,
    message: errorMessage,
  }));
}
