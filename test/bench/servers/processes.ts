import { spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { endAtExit } from "../leftovers.ts";

/** Starts Node processes that end together with the bench. */

type NodeStartOptions = {
  readonly stdio: StdioOptions;
  readonly env?: Readonly<Record<string, string>>;
  /** By default, the Node that runs the bench. */
  readonly program?: string;
};

export function startNode(
  words: readonly string[],
  { stdio, env, program = process.execPath }: NodeStartOptions,
): ChildProcess {
  const child = spawn(program, words, { stdio, env: { ...readEnvironment(), ...env } });
  child.once(
    "exit",
    endAtExit(() => void child.kill("SIGKILL")),
  );
  return child;
}

/** Without the Waypost settings of the developer. */
function readEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("WAYPOST_"));
  return Object.fromEntries(kept);
}
