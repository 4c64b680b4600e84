import type { Endpoint } from "./endpoint.ts";
import { contract } from "./index.ts";
import { findKind } from "./resource-kind.ts";

/**
 * What of an answer could not be read, because the specification has it otherwise. The notes go
 * along with what was read, under a symbol, so that no result or JSON ever has them.
 */

export type Deviation = {
  /** The place of a row on its page, from 0; left out where the answer is one resource. */
  readonly row?: number;
  /** Left out for a whole row or answer. */
  readonly field?: string;
  /** What it is instead, as the end of a sentence: `an object`. */
  readonly found: string;
};

const noted = Symbol("deviations");

/** Any object may have them. */
type Noted = object & { readonly [noted]?: readonly Deviation[] };

export function noteDeviations<Body extends object>(
  body: Body,
  deviations: readonly Deviation[],
): Body {
  if (deviations.length === 0) return body;
  // No copy of the body has them, and nothing that is made of it.
  return Object.defineProperty({ ...body }, noted, { value: deviations });
}

/** Of an answer, or of one of its rows. */
export function listUnread(body: Noted | null | undefined): readonly Deviation[] {
  return body?.[noted] ?? [];
}

/** What nothing may be concluded from, and what must not be written back. */
export function listUnreadFields(record: Noted | null | undefined): readonly string[] {
  return listUnread(record).flatMap(({ field }) => field?.split(".")[0] ?? []);
}

/** The places of the rows of a list that are not among its rows. */
export function listUnreadRows(body: Noted): readonly number[] {
  return listUnread(body).flatMap(({ row, field }) =>
    row === undefined || field !== undefined ? [] : [row],
  );
}

/** "field clicks of the third link is an object". */
export function describeDeviation(endpoint: Endpoint, { row, field, found }: Deviation): string {
  const label = nameResource(endpoint);
  const whose = `the ${row === undefined ? "" : `${writeOrdinal(row + 1)} `}${label}`;
  if (field !== undefined) return `field ${field} of ${whose} is ${found}`;
  return row === undefined ? `the answer is ${found}` : `${whose} is ${found}`;
}

function nameResource(endpoint: Endpoint): string {
  const { version, versions } = contract.pageTemplate;
  if (endpoint === version || endpoint === versions) return "version";
  return findKind(endpoint).label;
}

const ordinals = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];

function writeOrdinal(place: number): string {
  const word = [...ordinals, "ninth", "tenth"][place - 1];
  if (word !== undefined) return word;
  const isTeen = place % 100 > 10 && place % 100 < 14;
  const ending = isTeen ? undefined : ["st", "nd", "rd"][(place % 10) - 1];
  return `${place}${ending ?? "th"}`;
}

export function describeFound(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (value === "") return "an empty string";
  return typeof value === "boolean" ? String(value) : (nouns[typeof value] ?? typeof value);
}

const nouns: Readonly<Record<string, string>> = {
  object: "an object",
  string: "a string",
  number: "a number",
};
