import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Use this to measure what memory an act leaves behind. */

setFlagsFromString("--expose-gc");
// The flag gives a function to contexts that are made after it.
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

/** Lets everything go that nobody needs. */
export async function collectGarbage(): Promise<void> {
  // What a turn of the event loop still holds on to is let go in the next.
  for (let turn = 0; turn < 3; turn += 1) {
    await setImmediate();
    collect();
  }
}

/** The bytes that this process still holds when everything that nobody needs has gone. */
export async function measureHeld(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/**
 * The bytes that some work leaves behind after collections of what is young alone: those that cost
 * next to nothing. The least of three goes, for whatever else the process does adds to one of them.
 */
export async function measureLeftOld(work: () => void | Promise<void>): Promise<number> {
  const left: number[] = [];
  for (let go = 0; go < 3; go += 1) {
    const before = await measureAfterSmallCollection();
    await work();
    left.push((await measureAfterSmallCollection()) - before);
  }
  return Math.min(...left);
}

async function measureAfterSmallCollection(): Promise<number> {
  for (let turn = 0; turn < 3; turn += 1) {
    await setImmediate();
    collect({ type: "minor" });
  }
  return process.memoryUsage().heapUsed;
}
