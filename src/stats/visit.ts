import type { Platform } from "../visit/decide-visit.ts";

/**
 * One visit, as far as anything is kept of it: no address, no agent, nothing that tells one person
 * from another.
 */
export type Visit = {
  readonly projectId: string;
  readonly linkId: string;
  readonly what: VisitEvent;
  /** When it was, in milliseconds since 1970. */
  readonly at: number;
} & VisitFacts;

/** What is told apart of visits. */
export type VisitFacts = {
  readonly platform: Platform;
  /**
   * The link's own address, a short one, its QR code, or the button of its page. An install that an
   * app reported itself is `reported`: no visit vouches for it.
   */
  readonly source: Source;
  /** Two capital letters; nothing where it is not known. */
  readonly country?: string | undefined;
  /** The host of the page that led to it. */
  readonly referrer?: string | undefined;
};

/** A click is a visit of a person; apps tell that they were opened, or installed, by a link. */
export const visitEvents = ["click", "open", "install"] as const;
export type VisitEvent = (typeof visitEvents)[number];

export type Source = "address" | "short" | "qr" | "button" | "reported";
/** Its presses follow a click, and are none. */
export const pressSource: Source = "button";

export const hour_ms = 60 * 60 * 1000;
export const dayHours = 24;
/** Days of UTC have no other length. */
export const day_ms = dayHours * hour_ms;
/** So long it is known of a visit in which hour it was, and then on which day of UTC. */
const hoursKept_days = 90;

/** The first of the days whose hours are known, by its number. */
export function findFirstDay(now: number): number {
  return Math.floor(now / day_ms) - hoursKept_days;
}

/** In place of what nobody said. */
const unsaid = "-";
/** The hosts that came after the most that are told apart. No host has such a name. */
export const otherReferrers = "other";

/** All that is told apart of a visit, as one text: those that are alike have the same. */
export function writeKind(what: VisitEvent, at: number, facts: VisitFacts): string {
  const { platform, source, country = unsaid, referrer = unsaid } = facts;
  return `${Math.floor(at / hour_ms)} ${what} ${platform} ${source} ${country} ${referrer}`;
}

/** What is noted of a visit beside the link. */
export type Told = {
  /** Whose link it is. */
  readonly projectId: string;
  readonly kind: string;
  /** Whether it adds to what the link shows as its clicks. */
  readonly isClick: boolean;
};

export function tellVisit({ projectId, what, at, ...facts }: Omit<Visit, "linkId">): Told {
  return tellKind(projectId, writeKind(what, at, facts));
}

export function tellKind(projectId: string, kind: string): Told {
  return { projectId, kind, isClick: readKind(kind).isClick };
}

export type Kind = {
  /** Since 1970. */
  readonly hour: number;
  readonly what: VisitEvent;
  readonly platform: string;
  readonly source: string;
  readonly country: string | undefined;
  readonly referrer: string | undefined;
  /** Whether it adds to what the link shows as its clicks. */
  readonly isClick: boolean;
  /** The presses of a page's button follow a click: they are told, and in no total. */
  readonly isPress: boolean;
};

export function readKind(text: string): Kind {
  const [hour, what = "click", platform = "", source = "", country, referrer] = text.split(" ");
  return {
    hour: Number(hour),
    // We wrote it ourselves.
    what: what as VisitEvent,
    platform,
    source,
    country: country === unsaid ? undefined : country,
    referrer: referrer === unsaid ? undefined : referrer,
    isClick: what === "click" && source !== pressSource,
    isPress: what === "click" && source === pressSource,
  };
}

export function withOtherReferrer(kind: string): string {
  return `${kind.slice(0, kind.lastIndexOf(" "))} ${otherReferrers}`;
}

/** The same without its hour: of the middle of its day, which most time zones have in that day. */
export function withoutHour(kind: string): string {
  const end = kind.indexOf(" ");
  const day = Math.floor(Number(kind.slice(0, end)) / dayHours);
  return `${day * dayHours + dayHours / 2}${kind.slice(end)}`;
}
