import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startNode } from "../servers/processes.ts";
import { readThreads_us } from "../servers/threads.ts";
import type { HeardAll, Order } from "./streams.ts";

/** The process that sends the requests of a load, for one order at a time. */
export type Load = {
  readonly ask: (order: Order) => Promise<HeardAll>;
  /** The processor time that the process has used so far. */
  readonly readCpu_us: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function startLoad(): Promise<Load> {
  const script = fileURLToPath(new URL("./load-process.ts", import.meta.url));
  const stdio = ["ignore", "inherit", "inherit", "ipc"] as const;
  const child = startNode(["--import", import.meta.resolve("tsx"), script], { stdio: [...stdio] });
  const ended = once(child, "exit");
  // After the process has ended, no order is answered.
  const failed = ended.then(([code, signal]) => {
    throw new Error(`the load ended with ${code ?? signal}`);
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
