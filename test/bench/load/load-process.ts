import { runStreams, type Order } from "./streams.ts";

/** The load in a process of its own, which shares no thread with what it measures. */

process.on("message", (order: Order) => {
  void runStreams(order).then((heard) => process.send?.(heard));
});
process.send?.("ready");
