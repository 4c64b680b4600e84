import { fileURLToPath } from "node:url";
import { startWorker, type Worker } from "../servers/processes.ts";
import type { HeardAll, Order } from "./streams.ts";

/** The process that sends the load, and waits for orders. */
export type Load = Worker<Order, HeardAll>;

export function startLoad(): Promise<Load> {
  const script = fileURLToPath(new URL("./load-process.ts", import.meta.url));
  return startWorker(script, { execArgv: ["--import", "tsx"] });
}
