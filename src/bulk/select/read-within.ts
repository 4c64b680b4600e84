import type { FilterInput } from "../../contract/filters.ts";
import type { ReadLink } from "../../contract/links.ts";
import { limitTime, type InTime } from "./limit-time.ts";
import { readStart, selectParts } from "./select-links.ts";

/** The links that filters name, for as long as the answer to one call may take. */

export type ReadWithin = {
  /** How many more there are that could not be read. */
  readonly unread: number;
  readonly isWhole: boolean;
  /**
   * Where to go on: all links that were made before this moment were read, and of the next ones
   * some may have been. Undefined where that is where it began.
   */
  readonly reached: string | undefined;
};

/** A part that was not read to its end is read once more by whoever goes on. */
const mostTogether = 2000;

export async function readWithin(
  asking: InTime,
  filters: readonly FilterInput[],
  take: (links: readonly ReadLink[]) => void,
): Promise<ReadWithin> {
  const { call, noteRead, stop } = limitTime(asking);
  let unread = 0;
  let reached: string | undefined;
  try {
    const options = { most: mostTogether, noteRead };
    for await (const part of selectParts({ ...asking, call }, filters, options)) {
      take(part.rows);
      unread += part.unread;
      reached = part.before;
      if (!part.isCut) continue;
      return {
        unread,
        isWhole: false,
        reached: reached === readStart(filters) ? undefined : reached,
      };
    }
  } finally {
    stop();
  }
  return { unread, isWhole: true, reached: undefined };
}
