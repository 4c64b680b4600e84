/** Use this for random choices that repeat: all of them follow from one seed. */

export type Chance = {
  /** A number from 0 to 1, exclusive. */
  readonly share: () => number;
  /** A whole number from `low` to `high`, inclusive. */
  readonly between: (low: number, high: number) => number;
  readonly pick: <const Item>(items: readonly [Item, ...Item[]]) => Item;
  readonly isLikely: (share: number) => boolean;
  /** Returns each item with this probability, in order. */
  readonly choose: <Item>(items: readonly Item[], share: number) => readonly Item[];
  readonly shuffle: <Item>(items: readonly Item[]) => readonly Item[];
  readonly bytes: (count: number) => Uint8Array;
};

/** Each name has its own stream, so that one more draw in a stream does not change the others. */
export function createChance(seed: number, name: string): Chance {
  const draw = startStream(seed, name);
  const between = (low: number, high: number) => low + Math.floor(draw() * (high - low + 1));
  return {
    share: draw,
    between,
    pick: (items) => items[between(0, items.length - 1)] ?? items[0],
    isLikely: (share) => draw() < share,
    choose: (items, share) => items.filter(() => draw() < share),
    shuffle: (items) =>
      items
        .map((item) => ({ item, place: draw() }))
        .toSorted((one, other) => one.place - other.place)
        .map(({ item }) => item),
    bytes: (count) => Uint8Array.from({ length: count }, () => between(0, 255)),
  };
}

/** Mulberry32: small, and good enough to choose faults. */
function startStream(seed: number, name: string): () => number {
  let state = seed >>> 0;
  for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 0x9e37_79b1) >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
