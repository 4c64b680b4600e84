import type { Platform } from "../visit/decide-visit.ts";

/** A counted visit. It contains no IP address, no user agent and no other personal data. */
export type CountedVisit = {
  readonly projectId: string;
  readonly linkId: string;
  readonly what: VisitEvent;
  /** The time, in milliseconds since 1970. */
  readonly at: number;
} & VisitFacts;

/**
 * A click is a visit to the link itself. An app reports an open if a link opened it, and an install
 * if a link led to its installation.
 */
export type VisitEvent = "click" | "open" | "install";

export type VisitFacts = {
  readonly platform: Platform;
  readonly source: VisitSource;
  /** The country code in uppercase. Undefined if unknown. */
  readonly country?: string | undefined;
  /** The host of the page that the visitor came from. */
  readonly referrer?: string | undefined;
};

/**
 * How the visitor opened the link: by its URL, its short URL, its QR code, or the button on its
 * page. An install is known only from the app's report, so its source is `reported`.
 */
export type VisitSource = "address" | "short" | "qr" | "button" | "reported";

/**
 * A press of the button on a link's page. Totals leave it out, because the visit to the page was
 * already counted.
 */
export const pressSource: VisitSource = "button";
/**
 * The value for referring hosts that are not stored separately. A real host name contains a dot, so
 * it never equals this value.
 */
export const otherReferrers = "other";

export const hour_ms = 60 * 60 * 1000;
export const dayHours = 24;
export const day_ms = dayHours * hour_ms;
/** The columns of a counter: one for each hour of its day. */
export const hourColumns = Array.from({ length: dayHours }, (_, hour) => `hour_${hour}` as const);
export type HourColumn = (typeof hourColumns)[number];

/**
 * The most common value of each property. It has no counter: its count is the total minus the
 * counts of the other values. This halves the number of writes.
 */
export const usualValues = {
  platform: "desktop",
  source: "address",
  country: "unknown",
  referrer: "direct",
} as const;
export type VisitFact = keyof typeof usualValues;
/**
 * What a counter counts: all visits, or those with a certain value of a property. Months also have
 * their own totals, so that reports read fewer rows.
 */
export type Dimension = VisitFact | "total" | "month";

/** Returns the first day of a day's month (UTC). Days are counted since 1970. */
export function findMonth(day: number): number {
  const date = new Date(day * day_ms);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) / day_ms;
}

/** Visits of the same kind have the same hour and properties, and are counted together. */
export type VisitKind = Pick<CountedVisit, "projectId" | "what" | "referrer"> & {
  /** The number of hours since 1970. */
  readonly hour: number;
  readonly values: readonly (readonly [Dimension, string])[];
  /** True if the visit also increases the link's number of clicks. */
  readonly isClick: boolean;
  readonly key: string;
};

/** A link's visits that are not in the database yet. */
export type LinkVisits = {
  readonly projectId: string;
  readonly linkId: string;
  readonly clicks: number;
  readonly kinds: readonly { readonly kind: VisitKind; readonly count: number }[];
};

/**
 * Sorts links before they are written. The fixed order prevents deadlocks between processes, and
 * keeps the rows of a batch close together in the table.
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
    isPress ? [["source", pressSource]] : listCounters(facts),
  );
}

/** Returns the visit kind with its referring host replaced by `other`. */
export function withOtherReferrer(kind: VisitKind): VisitKind {
  const values = kind.values.filter(([dimension]) => dimension !== "referrer");
  return makeKind(kind, [...values, ["referrer", otherReferrers]]);
}

function listCounters(facts: VisitFacts): VisitKind["values"] {
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
