import { mostSkew_ms } from "../contract/clock-skew.ts";
import { clock } from "./embedded.ts";

/** This machine's clock beside the database's, which all its machines have in common. */

/** Of two machines that are no further off, none differs by too much from the other. */
const most_ms = mostSkew_ms / 2;

/** What is wrong with this machine's clock; undefined where it is right, or nobody knows. */
export async function findClockFault(
  readTime: () => Promise<number | undefined>,
): Promise<string | undefined> {
  const ahead_ms = await compareClocks(readTime);
  if (ahead_ms === undefined || Math.abs(ahead_ms) <= most_ms) return undefined;
  const side = ahead_ms > 0 ? "ahead of" : "behind";
  return (
    `This machine's clock is ${writeSeconds(Math.abs(ahead_ms))} seconds ${side} the database's ` +
    `clock; at most ${writeSeconds(most_ms)} are allowed. Jobs, approvals and rate limits shared ` +
    "by several machines would end too early or too late. Synchronize all clocks with NTP"
  );
}

/** By how much it is surely ahead: the time that the answer was on its way may be either's. */
async function compareClocks(
  readTime: () => Promise<number | undefined>,
): Promise<number | undefined> {
  const before = clock.now();
  const told = await readTime();
  const after = clock.now();
  if (told === undefined) return undefined;
  return told < before ? before - told : Math.min(0, after - told);
}

function writeSeconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(1);
}
