import { decisive, differ, isAlike, isAnother, isSamePlace, type Seen } from "./compare-phones.ts";
import type { Crowd } from "./crowding.ts";
import { estimateDoubt } from "./estimate-doubt.ts";
import { markNames, type MarkName } from "./marks.ts";

/**
 * Which visit of a link's page an app was installed for, if any. Nobody knows it: what is compared
 * is what the browser and the app tell of their phones, and a miss is better than the link of
 * somebody else. So wherever two visits could be meant, none is; and where one is left, how sure it
 * is depends on how likely another phone would have looked the same.
 */

export type Visit = Seen & {
  /** The same for visits that lead to the same place in the app. */
  readonly leadsTo: string;
};

export type Chosen<One extends Visit> = {
  readonly visit: One;
  /** Those that lead to the same, and could be the one as well. */
  readonly others: readonly One[];
  readonly confidence: "high" | "medium" | "low";
  /** From 0 to 100. */
  readonly score: number;
};

/** They add up to 100 with the points of an address that is not shared. */
const points: Readonly<Record<MarkName, number>> = {
  screen: 15,
  zone: 12,
  language: 10,
  region: 3,
  device: 5,
  calendar: 5,
  major: 6,
  minor: 4,
};
const addressPoints = 40;

/** Below that nothing is said, whatever else there is. */
const leastPoints = 50;
/** Where less than that is against a visit, it could be the one as well. */
const margin = 8;

/**
 * How likely it may be that the visit is another phone's. One in a thousand is promised of `high`:
 * half of it is left for what the estimate does not know.
 */
const mostDoubt = { high: 0.0005, medium: 0.01, low: 0.05 } as const;

/** What is known of the project's phones, wherever they came from. */
type Known = {
  /** Its latest visits: by them it is known how many look alike. */
  readonly recent: readonly Seen[];
  /** How many there are behind one address. */
  readonly crowd: Crowd;
};

export function chooseVisit<One extends Visit>(
  install: Seen,
  visits: readonly One[],
  known: Known,
): Chosen<One> | undefined {
  const candidates = visits
    .flatMap((visit) => rate(install, visit))
    .toSorted((one, other) => other.score - one.score);
  const listRivals = ({ visit }: Rated<One>) =>
    candidates.filter((other) => other.visit.leadsTo !== visit.leadsTo);
  const best = candidates.find((one) =>
    listRivals(one).every((rival) => isBehind(install, rival, one)),
  );
  if (best === undefined) return undefined;
  const { visit, score, alike } = best;
  const here = visits.filter((seen) => seen !== visit && isSamePlace(install, seen)).length;
  const doubt = estimateDoubt({ install, visit, alike, here, ...known });
  const confidence = judge(install, best, doubt);
  // What is only just likely is not told where anything else could be meant at all.
  const isRivalled = listRivals(best).length > 0;
  if (confidence === undefined || (confidence === "low" && isRivalled)) return undefined;
  const others = candidates.filter(
    (one) => one !== best && one.visit.leadsTo === visit.leadsTo && !isBehind(install, one, best),
  );
  return { visit, others: others.map((one) => one.visit), confidence, score };
}

type Rated<One extends Visit> = {
  readonly visit: One;
  readonly score: number;
  /** The marks that both tell, and that are the same. */
  readonly alike: readonly MarkName[];
};

/** Nothing where it cannot be the same phone, or nobody could tell. */
function rate<One extends Visit>(install: Seen, visit: One): readonly Rated<One>[] {
  const isPhone = visit.marks.device !== undefined;
  if (!isPhone || isAnother(install.marks, visit.marks)) return [];
  // Models, languages and zones are few enough to be guessed: without a common address there is
  // no match.
  if (!isSamePlace(install, visit)) return [];
  const alike = markNames.filter((name) => isAlike(install.marks, visit.marks, name));
  const sum = alike.reduce((total, name) => total + points[name], 0);
  const isShared = isFromShared(install);
  const score = sum + (isShared ? 0 : addressPoints);
  // A shared address proves little: all decisive marks have to be known and equal.
  const isTold = !isShared || isAllTold(alike);
  return isTold && score >= leastPoints ? [{ visit, score, alike }] : [];
}

/**
 * By what it tells, and what is not so. What a phone does not tell makes it no other one: of iOS 26
 * only Safari tells the version, and whose script did not run tells next to nothing.
 */
function isBehind(install: Seen, rival: Rated<Visit>, { visit }: Rated<Visit>) {
  const against = markNames.filter(
    (name) =>
      differ(install.marks, rival.visit.marks, name) && !differ(install.marks, visit.marks, name),
  );
  return against.reduce((total, name) => total + points[name], 0) >= margin;
}

function judge(
  install: Seen,
  { visit, alike }: Rated<Visit>,
  doubt: number,
): Chosen<Visit>["confidence"] | undefined {
  if (doubt > mostDoubt.low) return undefined;
  if (isFromShared(install) || doubt > mostDoubt.medium) return "low";
  const isContradicted = markNames.some((name) => differ(install.marks, visit.marks, name));
  const isWhole = isAllTold(alike) && alike.includes("minor") && !isContradicted;
  return isWhole && doubt <= mostDoubt.high ? "high" : "medium";
}

function isFromShared({ address }: Seen): boolean {
  return address?.isShared === true;
}

function isAllTold(alike: readonly MarkName[]): boolean {
  return decisive.every((name) => alike.includes(name));
}
