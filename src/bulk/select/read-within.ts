import type { Clock } from "../../contract/clock.ts";
import type { FilterInput } from "../../contract/filters.ts";
import type { ReadLink } from "../../contract/links.ts";
import type { Asking } from "../owner.ts";
import { selectParts } from "./select-links.ts";

/** The links that filters name, for as long as the answer to one call may take. */

export type ReadWithin = {
  /** How many more there are that could not be read. */
  readonly unread: number;
  readonly isWhole: boolean;
  /** Where to go on: all links that were made before this moment were read. */
  readonly reached: string | undefined;
};

type Within = Asking & { readonly clock: Pick<Clock, "monotonic"> };

const mostTime_ms = 20_000;
/** Of a part that was not read to its end when the time is up nothing is used. */
const mostTogether = 2000;

export async function readWithin(
  { call, signal, clock }: Within,
  filters: readonly FilterInput[],
  take: (links: readonly ReadLink[]) => void,
): Promise<ReadWithin> {
  const end = clock.monotonic() + mostTime_ms;
  const callInTime: Asking["call"] = async (...asked) => {
    if (clock.monotonic() > end) throw new TimeIsUp();
    return call(...asked);
  };
  let unread = 0;
  let reached: string | undefined;
  try {
    const asking = { call: callInTime, signal };
    for await (const part of selectParts(asking, filters, { most: mostTogether })) {
      take(part.rows);
      unread += part.unread;
      reached = part.before;
    }
  } catch (error) {
    if (!(error instanceof TimeIsUp)) throw error;
    return { unread, isWhole: false, reached };
  }
  return { unread, isWhole: true, reached: undefined };
}

class TimeIsUp extends Error {
  override readonly name = "TimeIsUp";
}
