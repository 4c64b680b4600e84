import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchNode } from "../tools/fetch-node.js";

/** Runs the official conformance suite against a running server. */

export type Revision = "2025-11-25" | "2026-07-28";

export type Check = {
  readonly scenario: string;
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly message: string;
};

export async function runSuite(url: string, revision: Revision): Promise<readonly Check[]> {
  const folder = mkdtempSync(join(tmpdir(), "waypost-conformance-"));
  try {
    const words = ["server", "--url", url, "--requirements", revision, "-o", folder];
    const child = spawn(findNode(), [suite, ...words], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    const scenarios = [...said.matchAll(/^=== Running scenario: (\S+) ===$/gm)];
    if (scenarios.length === 0) throw new Error(`the suite did not run: ${said}`);
    return scenarios.flatMap(([, scenario = ""]) => readChecks(folder, scenario));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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

type Written = {
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
  const checks: Written[] = JSON.parse(readFileSync(join(folder, found, "checks.json"), "utf8"));
  return checks.map(({ id, status, name, errorMessage = name }) => ({
    scenario,
    id,
    status,
    message: errorMessage,
  }));
}
