import { differ, isAlike, isSamePlace, type Seen } from "./compare-phones.ts";
import type { Crowd } from "./crowding.ts";
import type { MarkName } from "./marks.ts";

/** What of a choice is known, beside the visit itself. */
type Choice = {
  readonly install: Seen;
  readonly visit: Seen;
  /** The marks in which the visit is like the install. */
  readonly alike: readonly MarkName[];
  /** The others that visit from where the install asks, all of them. */
  readonly here: number;
  /** The project's latest, wherever they are from: by them it is known how many look alike. */
  readonly recent: readonly Seen[];
  /** How many others are behind one address, as far as the project's visits have shown. */
  readonly crowd: Crowd;
};

/** Three installs in ten come by themselves: so many for each that has visited. */
const organic = 0.3 / 0.7;
/** Of two phones behind one address so many have the same, as long as nothing is known. */
const usual: Readonly<Partial<Record<MarkName, number>>> = {
  screen: 0.12,
  language: 0.6,
  major: 0.5,
  minor: 0.5,
};
/** A phone seldom gets a new version of its system between a visit and an install. */
const updated = 5;
/** What is usual counts as much as so many visits that were seen. */
const usualVisits = 20;
/** Other phones behind an address that visit at the same time, where nothing is known. */
const usualOthers = 0.03;

/**
 * How likely the one visit that fits is another phone's: that somebody has come by himself, that
 * others have visited from where he is, and that one of them looks like him.
 */
export function estimateDoubt(choice: Choice): number {
  const { install, visit, alike, here, recent, crowd } = choice;
  // The visit itself may be among them: it is no other phone that looks like it.
  const elsewhere = recent.filter((seen) => seen !== visit && !isSamePlace(install, seen));
  const lookalikes = elsewhere.filter((seen) =>
    alike.every((name) => isAlike(install.marks, seen.marks, name)),
  ).length;
  const share = alike.reduce((product, name) => product * (usual[name] ?? 1), 1);
  // That nobody else was seen to look so says the less, the fewer were seen.
  const unseen = elsewhere.length / (elsewhere.length + 10);
  const known = lookalikes + unseen + usualVisits * share;
  const likeness = known / (elsewhere.length + usualVisits);
  // All recent visitors may be behind a shared address, the visitor among them.
  const isShared = install.address?.isShared === true;
  const neighbours = isShared ? recent.length : here + countUnseen(crowd);
  const isUpdated = differ(install.marks, visit.marks, "minor");
  return organic * neighbours * likeness * (isUpdated ? updated : 1);
}

/** As many as are known to be beside one another, though none is seen. */
function countUnseen({ visits, others }: Crowd): number {
  return (usualOthers * usualVisits + others) / (usualVisits + visits);
}
