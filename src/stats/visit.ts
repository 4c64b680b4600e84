import type { Platform } from "../visit/decide-visit.ts";

/**
 * One visit, as far as anything is kept of it: no address, no agent, nothing that distinguishes one
 * person from another.
 */
export type Visit = {
  readonly projectId: string;
  readonly linkId: string;
  readonly what: VisitEvent;
  /** In milliseconds since 1970. */
  readonly at: number;
} & VisitFacts;

/** A click is a visit of a person; apps report that they were opened, or installed, by a link. */
export type VisitEvent = "click" | "open" | "install";

/** What visits are distinguished by. */
export type VisitFacts = {
  readonly platform: Platform;
  readonly source: Source;
  /** Two capital letters; undefined where it is not known. */
  readonly country?: string | undefined;
  /** The host of the page that the visitor came from. */
  readonly referrer?: string | undefined;
};

/**
 * The link's own address, a short one, its QR code, or the button of its page. An install that an
 * app reported itself is `reported`: it follows no visit that we saw.
 */
export type Source = "address" | "short" | "qr" | "button" | "reported";

/** Each press of a page's button follows a click, so it counts in no total. */
export const pressSource: Source = "button";
/** Counts together the hosts beyond the most that are kept. Real hosts have a dot. */
export const otherReferrers = "other";

export const hour_ms = 60 * 60 * 1000;
export const dayHours = 24;
/** Every day of UTC has this length. */
export const day_ms = dayHours * hour_ms;
/** The columns of a counter that have the visits of each hour of its day. */
export const hourColumns = Array.from({ length: dayHours }, (_, hour) => `hour_${hour}` as const);
export type HourColumn = (typeof hourColumns)[number];

/**
 * Visits are counted in total and by each of these facts. A visit with the usual value of a fact is
 * not counted by it: what the other values leave of the total is theirs. That halves the writes.
 */
export const usualValues = {
  platform: "desktop",
  source: "address",
  country: "unknown",
  referrer: "direct",
} as const;
export type Fact = keyof typeof usualValues;
/** The total of each month is counted beside that of each day: a report reads fewer rows. */
export type Dimension = Fact | "total" | "month";

/** The first day of a month of UTC, given any of its days. Days are counted since 1970. */
export function findMonth(day: number): number {
  const date = new Date(day * day_ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / day_ms;
}

/** Equal visits of one hour, which are counted together. */
export type VisitKind = Pick<Visit, "projectId" | "what" | "referrer"> & {
  /** Since 1970. */
  readonly hour: number;
  /** The values that the visit adds to. */
  readonly values: readonly (readonly [Dimension, string])[];
  /** Adds to the clicks that the link shows. */
  readonly isClick: boolean;
  /** No other kind of the project has it. */
  readonly key: string;
};

/** The visits of a link that were not counted in the store before. */
export type LinkVisits = {
  readonly projectId: string;
  readonly linkId: string;
  /** How much they add to the link's clicks. */
  readonly clicks: number;
  readonly kinds: readonly { readonly kind: VisitKind; readonly count: number }[];
};

/** The order in which links are written: two processes that keep to it never deadlock. */
export function compareLinks(
  { linkId: one }: Pick<LinkVisits, "linkId">,
  { linkId: other }: Pick<LinkVisits, "linkId">,
): number {
  return one < other ? -1 : 1;
}

export function describeVisit({ projectId, what, at, ...facts }: Omit<Visit, "linkId">): VisitKind {
  const hour = Math.floor(at / hour_ms);
  const isPress = what === "click" && facts.source === pressSource;
  return makeKind(
    { projectId, what, hour },
    isPress ? [["source", pressSource]] : listValues(facts),
  );
}

/** The same, counted as from any other host. */
export function withOtherReferrer(kind: VisitKind): VisitKind {
  const values = kind.values.filter(([dimension]) => dimension !== "referrer");
  return makeKind(kind, [...values, ["referrer", otherReferrers]]);
}

function listValues(facts: VisitFacts): VisitKind["values"] {
  const values = (["platform", "source", "country", "referrer"] as const).map((fact) => {
    return [fact, facts[fact] ?? usualValues[fact]] as const;
  });
  return [["total", ""], ...values.filter(([fact, value]) => value !== usualValues[fact])];
}

function makeKind(
  { projectId, what, hour }: Pick<VisitKind, "projectId" | "what" | "hour">,
  values: VisitKind["values"],
): VisitKind {
  const known = new Map(values);
  const isClick = what === "click" && known.has("total");
  const key = `${hour} ${what} ${values.join(" ")}`;
  return { projectId, what, hour, referrer: known.get("referrer"), values, isClick, key };
}
