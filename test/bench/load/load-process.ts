import { runStreams, type Order } from "./streams.ts";

/** Sends requests from a separate process, which shares no thread with the measured server. */

process.on("message", (order: Order) => {
  void runStreams(order).then((heard) => process.send?.(heard));
});
process.send?.("ready");
