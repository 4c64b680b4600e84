import { createHmac } from "node:crypto";
import { markNames, type MarkName, type Marks } from "./marks.ts";

/** Compares two phones by their properties and IP addresses. */

export type SeenPhone = {
  readonly marks: Marks;
  readonly address: SeenAddress | undefined;
};

/** A hashed IP address. If `isShared` is true, many phones may use this IP address. */
type SeenAddress = { readonly group: string; readonly isShared: boolean };

/** Two phones are different if any of these properties differs. */
const decisive = ["device", "screen", "zone", "language"] as const satisfies readonly MarkName[];

function isAnother(one: Marks, other: Marks): boolean {
  return decisive.some((name) => differ(one, other, name));
}

/** Whether a property is known for both phones, but with different values. */
function differ(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && other[name] !== undefined && one[name] !== other[name];
}

function isAlike(one: Marks, other: Marks, name: MarkName): boolean {
  return one[name] !== undefined && one[name] === other[name];
}

function isSamePlace({ address: one }: SeenPhone, { address: other }: SeenPhone): boolean {
  return one !== undefined && one.group === other?.group;
}

/**
 * Hashes a property or IP address before it is stored. The hash depends on a secret key and on the
 * project, so stored values can be compared only within a project.
 */
export type Seal = (name: string, value: string) => string;

const hash_characters = 22;

export function createSeal(key: string, projectId: string): Seal {
  return (name, value) => {
    const text = JSON.stringify([projectId, name, value]);
    return createHmac("sha256", key).update(text).digest("base64url").slice(0, hash_characters);
  };
}

export function sealMarks(marks: Marks, seal: Seal): Marks {
  const sealed = markNames.flatMap((name) => {
    const value = marks[name];
    return value === undefined ? [] : [[name, seal(name, value)] as const];
  });
  return Object.fromEntries(sealed);
}

/** Hashes all properties together, to recognize a repeated visit. */
export function sealAll({ marks, address }: SeenPhone, seal: Seal): string {
  const all = markNames.map((name) => marks[name] ?? "");
  return seal("all", JSON.stringify([address?.group ?? "", ...all]));
}

/** Hashes the ID of an app installation together with the phone's properties. */
export function sealInstance(instance: string | undefined, marks: Marks, seal: Seal) {
  if (instance === undefined) return undefined;
  return seal("asker", JSON.stringify([instance, ...markNames.map((name) => marks[name] ?? "")]));
}

export type CandidateVisit = SeenPhone & {
  readonly linkId: string;
};

export type ChosenVisit<One extends CandidateVisit> = {
  readonly visit: One;
  /** Other matching visits of the same link. */
  readonly others: readonly One[];
  readonly confidence: "medium" | "low";
  /** How well the visit matches, from 0 to 100. */
  readonly score: number;
};

/**
 * The points for each property whose values match. With the points for an IP address that is not
 * shared, they add up to 100.
 */
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

const leastPoints = 50;

/**
 * Finds the visit that caused an install, by comparing the phones of both. A wrong link would be
 * worse than no link. So an install that matches visits of two links gets no link, and the
 * confidence is never higher than `medium`.
 */
export function chooseVisit<One extends CandidateVisit>(
  install: SeenPhone,
  visits: readonly One[],
): ChosenVisit<One> | undefined {
  const candidates = visits
    .flatMap((visit) => rate(install, visit))
    .toSorted((one, other) => other.score - one.score);
  const [best, ...others] = candidates;
  if (best === undefined) return undefined;
  const { visit, score, alike } = best;
  const { marks } = install;
  if (others.some((other) => other.visit.linkId !== visit.linkId)) return undefined;
  const isWhole = areAllKnown(alike) && !markNames.some((name) => differ(marks, visit.marks, name));
  // If other links were visited from this IP address, several people may use it.
  const isCrowded = visits.some(
    (other) => other.linkId !== visit.linkId && isSamePlace(install, other),
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

type RatedVisit<One extends CandidateVisit> = {
  readonly visit: One;
  readonly score: number;
  /** The properties whose values match on both phones. */
  readonly alike: readonly MarkName[];
};

/**
 * Rates a visit. Returns an empty list if the phone differs, or if too little is known about it.
 */
function rate<One extends CandidateVisit>(
  install: SeenPhone,
  visit: One,
): readonly RatedVisit<One>[] {
  const isPhone = visit.marks.device !== undefined;
  if (!isPhone || isAnother(install.marks, visit.marks)) return [];
  // The IP address must match too, because anyone can guess models, languages and time zones.
  if (!isSamePlace(install, visit)) return [];
  const alike = markNames.filter((name) => isAlike(install.marks, visit.marks, name));
  const sum = alike.reduce((total, name) => total + points[name], 0);
  const isShared = isFromShared(install);
  const score = sum + (isShared ? 0 : addressPoints);
  // A shared IP address proves little, so all decisive properties must be known and equal.
  const isKnown = !isShared || areAllKnown(alike);
  return isKnown && score >= leastPoints ? [{ visit, score, alike }] : [];
}

function isFromShared({ address }: SeenPhone): boolean {
  return address?.isShared === true;
}

function areAllKnown(alike: readonly MarkName[]): boolean {
  return decisive.every((name) => alike.includes(name));
}
