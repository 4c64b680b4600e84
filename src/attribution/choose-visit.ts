import { decisive, differ, isAlike, isAnother, isSamePlace, type Seen } from "./compare-phones.ts";
import { markNames, type MarkName } from "./marks.ts";

/**
 * Which visit of a link's page an app was installed for, if any. Browser and app describe their
 * phones, and only likeness connects them. A miss is better than a stranger's link, so an install
 * that could follow visits of two links gets neither, and likeness is never more than `medium`.
 */

export type Visit = Seen & {
  /** The same for visits that lead to the same place in the app. */
  readonly leadsTo: string;
};

export type Chosen<One extends Visit> = {
  readonly visit: One;
  /** Those that lead to the same, and could be the one as well. */
  readonly others: readonly One[];
  readonly confidence: "medium" | "low";
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

export function chooseVisit<One extends Visit>(
  install: Seen,
  visits: readonly One[],
): Chosen<One> | undefined {
  const candidates = visits
    .flatMap((visit) => rate(install, visit))
    .toSorted((one, other) => other.score - one.score);
  const [best, ...others] = candidates;
  if (best === undefined) return undefined;
  const { visit, score, alike } = best;
  const { marks } = install;
  if (others.some((other) => other.visit.leadsTo !== visit.leadsTo)) return undefined;
  const isWhole = isAllTold(alike) && !markNames.some((name) => differ(marks, visit.marks, name));
  // Phones of other people come from there.
  const isCrowded = visits.some(
    (other) => other.leadsTo !== visit.leadsTo && isSamePlace(install, other),
  );
  if (isCrowded && !isWhole) return undefined;
  const isLikely = isWhole && !isCrowded && !isFromShared(install);
  return {
    visit,
    others: others.map((other) => other.visit),
    confidence: isLikely ? "medium" : "low",
    score,
  };
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

function isFromShared({ address }: Seen): boolean {
  return address?.isShared === true;
}

function isAllTold(alike: readonly MarkName[]): boolean {
  return decisive.every((name) => alike.includes(name));
}
