import type { Platform } from "../visit/decide-visit.ts";

/**
 * One counted visit. It has no IP address, no user agent and nothing else that identifies a person.
 */
export type CountedVisit = {
  readonly projectId: string;
  readonly linkId: string;
  readonly what: VisitEvent;
  /** In milliseconds since 1970. */
  readonly at: number;
} & VisitFacts;

/**
 * The kind of a visit. A click is a person's visit. Apps report an open or an install that a link
 * caused.
 */
export type VisitEvent = "click" | "open" | "install";

/** The properties by which visits are counted. */
export type VisitFacts = {
  readonly platform: Platform;
  readonly source: VisitSource;
  /** Two capital letters; undefined if unknown. */
  readonly country?: string | undefined;
  /** The host of the page that the visitor came from. */
  readonly referrer?: string | undefined;
};

/**
 * The way in which the visitor opened the link: its own URL, a short URL, its QR code, or the
 * button on its page. `reported` is an install that only the app reported, without a visit known to
 * Waypost.
 */
export type VisitSource = "address" | "short" | "qr" | "button" | "reported";

/** Each press of a page's button follows a click, so totals do not count it. */
export const pressSource: VisitSource = "button";
/** The sum of all hosts that are not stored separately. Real hosts contain a dot. */
export const otherReferrers = "other";

export const hour_ms = 60 * 60 * 1000;
export const dayHours = 24;
/** All days of UTC have this length. */
export const day_ms = dayHours * hour_ms;
/** The columns of a counter, one for each hour of its day. */
export const hourColumns = Array.from({ length: dayHours }, (_, hour) => `hour_${hour}` as const);
export type HourColumn = (typeof hourColumns)[number];

/**
 * Each property's usual value. Visits are counted in total and by property, but usual values have
 * no counter. Their number is the total minus the other values. That halves the writes.
 */
export const usualValues = {
  platform: "desktop",
  source: "address",
  country: "unknown",
  referrer: "direct",
} as const;
export type VisitFact = keyof typeof usualValues;
/**
 * A property with counters of its own. Months have totals of their own, so that reports read fewer
 * rows.
 */
export type Dimension = VisitFact | "total" | "month";

/**
 * Returns the first day of the UTC month that contains the given day. Days are counted since 1970.
 */
export function findMonth(day: number): number {
  const date = new Date(day * day_ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / day_ms;
}

/** Identical visits within one hour, which are counted together. */
export type VisitKind = Pick<CountedVisit, "projectId" | "what" | "referrer"> & {
  /** Hours since 1970. */
  readonly hour: number;
  /** The counters that the visit increases. */
  readonly values: readonly (readonly [Dimension, string])[];
  /** True if the visit increases the link's number of clicks. */
  readonly isClick: boolean;
  /** Identifies this kind within its project. */
  readonly key: string;
};

/** The visits of a link that are not in the database yet. */
export type LinkVisits = {
  readonly projectId: string;
  readonly linkId: string;
  /** The number of clicks among these visits. */
  readonly clicks: number;
  readonly kinds: readonly { readonly kind: VisitKind; readonly count: number }[];
};

/**
 * Orders links for writing. A fixed order prevents deadlocks between two processes. If links are
 * sorted before they are split into batches, the rows of one batch are near each other.
 */
export function compareLinks(
  { linkId: one }: Pick<LinkVisits, "linkId">,
  { linkId: other }: Pick<LinkVisits, "linkId">,
): number {
  return one < other ? -1 : 1;
}

export function describeVisit({
  projectId,
  what,
  at,
  ...facts
}: Omit<CountedVisit, "linkId">): VisitKind {
  const hour = Math.floor(at / hour_ms);
  const isPress = what === "click" && facts.source === pressSource;
  return makeKind(
    { projectId, what, hour },
    isPress ? [["source", pressSource]] : listValues(facts),
  );
}

/** Returns the same visit, counted under the sum of other hosts. */
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
