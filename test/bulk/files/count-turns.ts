import { setImmediate } from "node:timers/promises";

/** Counts the turns of the event loop during some work. */
export async function countTurns<Result>(work: () => Promise<Result>) {
  let turns = 0;
  let isDone = false;
  const taking = (async () => {
    for (; !isDone; turns += 1) await setImmediate();
  })();
  const result = await work().finally(() => (isDone = true));
  await taking;
  return { result, turns };
}
