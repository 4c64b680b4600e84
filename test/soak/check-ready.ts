import { setTimeout } from "node:timers/promises";
import { ask } from "../bench/load/ask.ts";
import { none, type Check } from "./check.ts";
import { describeAnswer } from "./keep-asking.ts";

const patience_ms = 30_000;
const every_ms = 100;

/** Asks a server whether it is ready as balancers do: again, until it is. */
export async function checkReady(server: { readonly url: string }): Promise<Check> {
  const began = performance.now();
  const look = () => ask(server, { path: "/readyz" }).catch((error: Error) => error);
  const isReady = (answer: Awaited<ReturnType<typeof look>>) =>
    !(answer instanceof Error) && answer.status === 200;
  let answer = await look();
  while (!isReady(answer) && performance.now() - began < patience_ms) {
    await setTimeout(every_ms);
    answer = await look();
  }
  return none("not ready in the end", isReady(answer) ? [] : [describeAnswer(answer)]);
}
