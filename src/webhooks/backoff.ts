import type { Random } from "../contract/clock.ts";

/** How long is waited after failures, so that what comes back is not overrun at once. */

const first_ms = 5000;
const factor = 3;
const longest_ms = 2 * 60 * 60 * 1000;
const restLongest_ms = 60_000;

/** Until the next attempt of one event, after so many have failed. */
export function waitAfter(attempts: number, random: Random): number {
  return spread(Math.min(longest_ms, first_ms * factor ** (attempts - 1)), random);
}

/** Until anything is tried with a receiver again, that has failed so often one after the other. */
export function restAfter(failures: number, from: number, random: Random): number {
  if (failures < from) return 0;
  return spread(Math.min(restLongest_ms, 1000 * 2 ** (failures - from)), random);
}

/** By a quarter more or less, so that those that failed together do not come back together. */
function spread(milliseconds: number, random: Random): number {
  const [byte = 0] = random.bytes(1);
  return Math.round(milliseconds * (0.75 + byte / 510));
}
