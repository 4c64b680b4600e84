import type { Random } from "../../../src/contract/clock.ts";

/** Names such as people give their links, drawn from a seed: the same ones in every run. */

export type Namer = {
  readonly random: Random;
  /** Evenly between 0 and 1. */
  readonly share: () => number;
  readonly chance: (probability: number) => boolean;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  readonly nextWord: () => string;
  /** Three to eight words, one of which may be given. */
  readonly nextName: (with_?: string) => string;
};

// A few share trigrams with the rare word (eph, phy, hyr), as in real life.
const words = `
  account action adventure agency airport album alpine app april artist august autumn baby back
  banner barcelona basket beach beauty berlin best bike black blog blue boat bonus book boutique
  breakfast bridge bright brochure brunch bundle business button camera campaign canada card
  career catalogue chair checkout chicago children christmas city classic clearance coffee
  collection comeback concert contest cooking corner countdown coupon cruise customer daily dance
  deal december delivery demo denver desk detail digital dinner discount download dress early
  easter edition email energy england episode europe event exclusive expert express family fashion
  feature february festival first fitness flash flight flower forest france free friday friends
  fresh gallery garden geography gift global gold green group guide guitar hamburg happy harbour
  health holiday home hotel house icons influencer insider install instagram invite island italy
  jacket january jewel journal july june kitchen landing launch leather lesson letter light limited
  lisbon list local london loyalty lunch madrid magazine mail march market marathon member menu
  message midnight mobile monday morning mountain movie munich museum music newsletter night
  november october offer office onboarding online opening order organic outdoor outlet paris party
  pass payment photography podcast poster premium present press preview price product profile
  promo push quarter radio recipe red referral register release reminder renewal report reservation
  restaurant retail reward river road rome running sale saturday school season secret selection
  september series service shipping shoes shop signup silver ski sms snow social special sports
  spring stephanie store stories story street student studio subscribe summer sunday sunset support
  survey sweater table tablet team teaser telephone test theatre thursday ticket tokyo tour town
  trailer training travel trial trophy tuesday upgrade vacation valentine video vienna vintage vip
  voucher wallet warehouse website wednesday weekend welcome wellness white wholesale window wine
  winter women workshop world yoga york zero zurich
`
  .trim()
  .split(/\s+/);

export function createNamer(): Namer {
  const share = createShares(20_261_121);
  const pick: Namer["pick"] = (items) => {
    const item = items[Math.floor(share() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  };
  const nextWord = () => pick(words);
  return {
    random: { bytes: (count) => Uint8Array.from({ length: count }, () => share() * 256) },
    share,
    chance: (probability) => share() < probability,
    pick,
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
