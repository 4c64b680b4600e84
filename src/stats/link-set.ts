import { setImmediate } from "node:timers/promises";
import { createIdTable, isTaken, putId, seekId } from "./id-table.ts";
import { idWords, readIdWords } from "./link-ids.ts";

/** Some links, maybe a million: which of the links of a row are among them. */
export type LinkSet = {
  readonly size: number;
  /** The first and the last of their ids, where there are any. */
  readonly ends: readonly [first: string, last: string] | undefined;
  readonly has: (ids: Uint32Array, at: number) => boolean;
};

const addedAtOnce = 20_000;

/** Of packed ids, each of them once, and in whatever order. */
export async function createLinkSet(packed: Buffer, ends: LinkSet["ends"]): Promise<LinkSet> {
  const ids = readIdWords(packed);
  const size = ids.length / idWords;
  const table = createIdTable(size);
  for (let place = 0; place < size; place += 1) {
    putId(table, seekId(table, ids, place * idWords), ids, place * idWords);
    // Others have their turn.
    if (place % addedAtOnce === 0) await setImmediate();
  }
  return { size, ends, has: (other, at) => isTaken(table, seekId(table, other, at)) };
}
