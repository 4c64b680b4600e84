import type { ReadLink } from "../contract/links.ts";
import type { VisitedApps } from "../visit/decide-visit.ts";
import type { LinkFault } from "../visit/find-link-problems.ts";

/** What was found, counted by its kind; of each kind only as many ids are kept as are shown. */

export type FindingCode =
  LinkFault | "no_destination" | "deleted_app" | "hidden_characters" | "duplicate";

export type Finding = {
  readonly code: FindingCode;
  /** Where in a link it is, where that can be more than one field. */
  readonly field: string | undefined;
  readonly count: number;
  /** Of the links, or of the apps. */
  readonly ids: readonly string[];
  /** The first few links, for a plan that mends them. */
  readonly first: readonly ReadLink[];
  /** What else there is to say of it. */
  readonly detail: Detail;
};

type Detail = {
  /** The rule's own words. */
  readonly rule?: string;
  /** In how many sets the links are. */
  readonly sets?: number;
};

/** Which ids of each finding are wanted. */
export type Window = { readonly from: number; readonly limit: number };

export type Findings = {
  readonly note: (found: Found) => void;
  readonly list: () => readonly Finding[];
};

export type Found = {
  readonly code: FindingCode;
  readonly field?: string | undefined;
  readonly id: string;
  readonly link?: ReadLink;
  readonly detail?: Detail;
};

/** Finds what no link shows by itself. */
export type Search = {
  readonly add: (link: ReadLink, apps: VisitedApps) => void;
  readonly list: () => readonly Found[];
};

type Tally = Omit<Finding, "ids" | "first" | "count"> & {
  count: number;
  readonly ids: string[];
  readonly first: ReadLink[];
};

const mostFirst = 20;

export function createFindings({ from, limit }: Window): Findings {
  const tallies = new Map<string, Tally>();
  return {
    note: ({ code, field, id, link, detail = {} }) => {
      const key = `${code} ${field ?? ""}`;
      const tally = tallies.get(key) ?? { code, field, count: 0, ids: [], first: [], detail };
      tallies.set(key, tally);
      if (tally.count >= from && tally.ids.length < limit) tally.ids.push(id);
      if (link !== undefined && tally.first.length < mostFirst) tally.first.push(link);
      tally.count += 1;
    },
    list: () => [...tallies.values()],
  };
}
