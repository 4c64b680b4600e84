import {
  fork,
  spawn,
  type ChildProcess,
  type Serializable,
  type StdioOptions,
} from "node:child_process";
import { once } from "node:events";
import { endAtExit } from "../leftovers.ts";
import { readThreads_us } from "./threads.ts";

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

type Working = { readonly words?: readonly string[]; readonly execArgv?: readonly string[] };

/** A script that answers each order with one message, and ends when it is disconnected. */
export type Worker<Order, Answer> = {
  /** One order at a time. */
  readonly ask: (order: Order) => Promise<Answer>;
  /** The processor time that it has used so far. */
  readonly readCpu_us: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** Starts a script that says one thing when it is ready. */
export async function startWorker<Order extends Serializable, Answer>(
  script: string,
  { words = [], execArgv = [] }: Working,
): Promise<Worker<Order, Answer>> {
  const options = { execArgv: [...execArgv], env: readEnvironment() };
  const child = keep(fork(script, [...words], options));
  const ended = once(child, "exit");
  // Whoever waits for an answer of one that has ended would wait for ever.
  const failed = ended.then(([code, signal]) => {
    throw new Error(`${script} ended with ${code ?? signal}`);
  });
  failed.catch(() => undefined);
  const hear = async () => {
    const [message] = await Promise.race([once(child, "message"), failed]);
    return message;
  };
  await hear();
  return {
    ask: async (order) => {
      child.send(order);
      return hear();
    },
    readCpu_us: () => readThreads_us(child.pid),
    [Symbol.asyncDispose]: async () => {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
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
