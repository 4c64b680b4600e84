import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** One run of a few test files in a scratch copy, and which of their tests failed first. */

export type Verdict =
  | { readonly kind: "caught" | "hung"; readonly by: string }
  | { readonly kind: "survived" }
  /** No test had a say: what was put in is no program, or nobody waits any more. */
  | { readonly kind: "broken"; readonly why: string };

/** After this a test that waits fails; one that turns without end has to be ended from outside. */
const testLasts_ms = 2 * 60_000;
const patience_ms = 10 * 60_000;
/** Where the configuration has it written. */
const reportFile = ".report/vitest.json";

/** As Vitest writes it. */
type Report = {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[] | null;
    }[];
  }[];
};

export async function runTests(
  folder: string,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<Verdict> {
  const report = join(folder, reportFile);
  rmSync(report, { force: true });
  const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
  const limit = String(testLasts_ms);
  const limits = ["--testTimeout", limit, "--hookTimeout", limit];
  const quickly = ["--bail", "1", "--maxWorkers", "1", ...limits];
  const words = [...vitest, ...quickly, "--reporter", "json", ...tests];
  const end = await runNode(folder, words, signal);
  if (signal.aborted) return { kind: "broken", why: "it was stopped" };
  if (end.isLate) return { kind: "hung", by: `nobody: ${tests.join(", ")} had no end` };
  if (end.code === 0) return { kind: "survived" };
  if (!existsSync(report)) return { kind: "broken", why: end.said };
  return readReport(folder, JSON.parse(readFileSync(report, "utf8")));
}

export async function build(folder: string, signal: AbortSignal): Promise<string | undefined> {
  const { code, said } = await runNode(folder, ["test/tools/build.js"], signal);
  return code === 0 ? undefined : said;
}

function readReport(folder: string, { testResults }: Report): Verdict {
  const failed = testResults.find(({ status }) => status === "failed");
  if (failed === undefined) return { kind: "caught", by: "an error outside of every test" };
  const { name, message, assertionResults } = failed;
  const file = name.replace(`${folder}/`, "");
  if (assertionResults.length === 0) return { kind: "broken", why: `${file}: ${message}` };
  const test = assertionResults.find(({ status }) => status === "failed");
  const isHang = test?.failureMessages?.some((text) => /timed out (?:in|after) \d+ms/.test(text));
  return {
    kind: isHang === true ? "hung" : "caught",
    by: `${file}: ${test?.fullName.trim() ?? message}`,
  };
}

type End = { readonly code: number | null; readonly said: string; readonly isLate: boolean };

/** In a group of its own: what a test has started, and a hung one leaves behind, ends with it. */
function runNode(folder: string, words: readonly string[], signal: AbortSignal): Promise<End> {
  return new Promise((resolve, reject) => {
    const stdio = ["ignore", "ignore", "pipe"] as const;
    const child = spawn(process.execPath, words, {
      cwd: folder,
      detached: true,
      stdio: [...stdio],
    });
    let said = "";
    let isLate = false;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
    const end = () => endGroup(child.pid);
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, patience_ms);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
    child.once("error", reject).once("exit", (code) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      end();
      resolve({ code, said: said.trim(), isLate });
    });
  });
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left in it.
  }
}
