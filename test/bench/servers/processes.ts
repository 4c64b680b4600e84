import { fork, spawn, type ChildProcess, type StdioOptions } from "node:child_process";
import { endAtExit } from "../leftovers.ts";

/** Processes of the bench's own; none of them outlives it. */

type Starting = {
  readonly stdio: StdioOptions;
  readonly env?: Readonly<Record<string, string>>;
  /** Left out, the one that runs the bench. */
  readonly node?: string | undefined;
};

export function startNode(
  words: readonly string[],
  { stdio, env, node = process.execPath }: Starting,
): ChildProcess {
  return keep(spawn(node, words, { stdio, env: { ...readEnvironment(), ...env } }));
}

type Forking = { readonly words?: readonly string[]; readonly execArgv?: readonly string[] };

/** With messages to and fro. */
export function forkScript(script: string, { words = [], execArgv = [] }: Forking): ChildProcess {
  return keep(fork(script, [...words], { execArgv: [...execArgv], env: readEnvironment() }));
}

function keep(child: ChildProcess): ChildProcess {
  child.once(
    "exit",
    endAtExit(() => void child.kill("SIGKILL")),
  );
  return child;
}

/** Without what the person at the terminal has set for a Waypost of their own. */
function readEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("WAYPOST_"));
  return Object.fromEntries(kept);
}
