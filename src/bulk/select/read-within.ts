import type { FilterInput } from "../../contract/filters.ts";
import type { ReadLink } from "../../contract/links.ts";
import type { InTime } from "./limit-time.ts";
import { findBound, selectParts } from "./select-links.ts";

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

/**
 * A part that was not read to its end is read once more by whoever goes on: links do not tell when
 * they were made, so nothing names the rest of it.
 */
const mostTogether = 2000;

export async function readWithin(
  asking: InTime,
  filters: readonly FilterInput[],
  take: (links: readonly ReadLink[]) => void,
): Promise<ReadWithin> {
  const { noteRead } = asking;
  let unread = 0;
  for await (const part of selectParts(asking, filters, { most: mostTogether, noteRead })) {
    take(part.rows);
    unread += part.unread;
    if (!part.isCut) continue;
    const isFurther = part.before !== findBound(filters, "gteq");
    return { unread, isWhole: false, reached: isFurther ? part.before : undefined };
  }
  return { unread, isWhole: true, reached: undefined };
}
