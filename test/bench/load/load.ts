import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { forkScript } from "../servers/processes.ts";
import type { HeardAll, Order } from "./streams.ts";

/** The process that sends the load, and waits for orders. */
export type Load = {
  readonly run: (order: Order) => Promise<HeardAll>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function startLoad(): Promise<Load> {
  const script = fileURLToPath(new URL("./load-process.ts", import.meta.url));
  const child = forkScript(script, { execArgv: ["--import", "tsx"] });
  const hear = async (): Promise<unknown> => {
    const over = new AbortController();
    const ended = once(child, "exit", { signal: over.signal }).then(([code]) => {
      throw new Error(`the load ended with ${code}`);
    });
    try {
      const [message] = await Promise.race([
        once(child, "message", { signal: over.signal }),
        ended,
      ]);
      return message;
    } finally {
      over.abort();
      await ended.catch(() => undefined);
    }
  };
  await hear();
  return {
    run: async (order) => {
      const heard = hear();
      child.send(order);
      return (await heard) as HeardAll;
    },
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}
