import { createHmac } from "node:crypto";
import { markNames, type MarkName, type Marks } from "./marks.ts";

/** Compares two phones by their properties and IP addresses. */

/** A phone's properties and the IP address of its requests. */
export type SeenPhone = {
  readonly marks: Marks;
  /** Undefined if unknown. */
  readonly address: SeenAddress | undefined;
};

/** An IP address. If it is shared, an unknown number of other phones use it as well. */
type SeenAddress = { readonly group: string; readonly isShared: boolean };

/** The properties that prove two phones different if any of them differs. */
const decisive = ["device", "screen", "zone", "language"] as const satisfies readonly MarkName[];

function isAnother(one: Marks, other: Marks): boolean {
  return decisive.some((name) => differ(one, other, name));
}

/** Checks whether both phones have this property, with different values. */
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
 * Hashes properties and IP addresses before they are stored. The hash needs a secret key and
 * differs in each project, so the stored values can only be compared.
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

/** Hashes all properties together, to recognize repeated visits. */
export function sealAll({ marks, address }: SeenPhone, seal: Seal): string {
  const all = markNames.map((name) => marks[name] ?? "");
  return seal("all", JSON.stringify([address?.group ?? "", ...all]));
}

/** Hashes the id of an app on one phone. Returns undefined if the phone sent no id. */
export function sealInstance(instance: string | undefined, marks: Marks, seal: Seal) {
  if (instance === undefined) return undefined;
  return seal("asker", JSON.stringify([instance, ...markNames.map((name) => marks[name] ?? "")]));
}

/** A visit to compare with an install. */
export type CandidateVisit = SeenPhone & {
  /** The visited link. Visits of the same link have the same value. */
  readonly linkId: string;
};

export type ChosenVisit<One extends CandidateVisit> = {
  readonly visit: One;
  /** Other visits of the same link that also fit. */
  readonly others: readonly One[];
  readonly confidence: "medium" | "low";
  /** From 0 to 100. */
  readonly score: number;
};

/**
 * The points for each equal property. With the points for an IP address that is not shared, they
 * add up to 100.
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

/** Below this score there is no match. */
const leastPoints = 50;

/**
 * Chooses the visit that led to an install. Compares the phone that the app reports with the phone
 * of each visit. Opening the wrong link would be worse than finding no match. So an install that
 * fits visits of two links gets no match, and the confidence is at most `medium`.
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
  // Visits of other links from the same IP address suggest that several people use it.
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
  /** The properties that both phones have with the same value. */
  readonly alike: readonly MarkName[];
};

/**
 * Rates a visit. Returns an empty list for a different phone, or if there is too little to compare.
 */
function rate<One extends CandidateVisit>(
  install: SeenPhone,
  visit: One,
): readonly RatedVisit<One>[] {
  const isPhone = visit.marks.device !== undefined;
  if (!isPhone || isAnother(install.marks, visit.marks)) return [];
  // Models, languages and time zones can be guessed, so a match needs the same IP address.
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
