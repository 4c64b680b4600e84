import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Use this to measure the memory that some work leaves behind. */

setFlagsFromString("--expose-gc");
// The flag adds a function to contexts that are created after it.
const collect = runInNewContext("gc") as (options?: { readonly type: "minor" }) => void;

export async function collectGarbage(): Promise<void> {
  // Objects that a turn of the event loop still uses are freed in the next turn.
  for (let turn = 0; turn < 3; turn += 1) {
    await setImmediate();
    collect();
  }
}

export async function measureHeld(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Bytes left after cheap minor collections: the lowest of three, as other work adds some. */
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
