import type { Random } from "../../../src/contract/clock.ts";

/** Link names as people choose them, from a seeded generator: each run gets the same ones. */

export type Namer = {
  readonly random: Random;
  readonly share: () => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** The first item is picked twice as often as the second, three times as often as the third. */
  readonly pickPopular: <Item>(items: readonly Item[]) => Item;
  readonly nextWord: () => string;
  /** Three to eight words. If `with_` is given, it is one of them. */
  readonly nextName: (with_?: string) => string;
};

// A few words share trigrams with the rare word (eph, phy, hyr), as in real names.
const words = `
  account action adventure agency airport album alpine app april artist august autumn baby back
  breakfast bridge bright brochure brunch bundle business button camera campaign canada card
  collection comeback concert contest cooking corner countdown coupon cruise customer daily dance
  easter edition email energy england episode europe event exclusive expert express family fashion
  fresh gallery garden geography gift global gold green group guide guitar hamburg happy harbour
  jacket january jewel journal july june kitchen landing launch leather lesson letter light limited
  message midnight mobile monday morning mountain movie munich museum music newsletter night
  pass payment photography podcast poster premium present press preview price product profile
  restaurant retail reward river road rome running sale saturday school season secret selection
  spring stephanie store stories story street student studio subscribe summer sunday sunset support
  trailer training travel trial trophy tuesday upgrade vacation valentine video vienna vintage vip
  winter women workshop world yoga york zero zurich
`
  .trim()
  .split(/\s+/);

export function createNamer(): Namer {
  const share = createShares(20_261_121);
  const pick: Namer["pick"] = (items) => pickAt(items, share() * items.length);
  const nextWord = () => pick(words);
  return {
    random: { bytes: (count) => Uint8Array.from({ length: count }, () => share() * 256) },
    share,
    chance: (probability) => share() < probability,
    pick,
    pickPopular: (items) => pickAt(items, (items.length + 1) ** share() - 1),
    nextWord,
    nextName: (given) => {
      const length = 3 + Math.floor(share() * 6);
      const parts = Array.from({ length }, nextWord);
      if (share() < 0.4) parts[length - 1] = String(Math.floor(share() * 3000));
      if (given !== undefined) parts[Math.floor(share() * length)] = given;
      const [first = "", ...rest] = parts;
      return [first.charAt(0).toUpperCase() + first.slice(1), ...rest].join(" ");
    },
  };
}

/** Mulberry32: small, quick and even enough for names. */
function createShares(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function pickAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[Math.floor(index)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}
