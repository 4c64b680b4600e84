import type { ReadLink } from "../contract/links.ts";
import type { VisitedApps } from "../visit/decide-visit.ts";
import type { LinkFault } from "../visit/find-link-problems.ts";

/** Collects the findings of an audit. Counts all links, but keeps only one page of their IDs. */

export type FindingCode =
  LinkFault | "no_destination" | "deleted_app" | "hidden_characters" | "duplicate";

export type AuditFinding = {
  readonly code: FindingCode;
  /** The affected field. Undefined for kinds of findings that always affect the same field. */
  readonly field: string | undefined;
  readonly count: number;
  readonly ids: readonly string[];
  /** The first few links of the finding, for a plan that fixes them. */
  readonly first: readonly ReadLink[];
  readonly detail: Detail;
};

type Detail = {
  /** The message of the rule that the field violates. */
  readonly rule?: string;
  /** The number of groups of duplicate links. */
  readonly sets?: number;
};

/** Which page of IDs to return for each finding. */
export type AuditWindow = { readonly from: number; readonly limit: number };

export type AuditFindings = {
  readonly note: (found: AuditProblem) => void;
  readonly list: () => readonly AuditFinding[];
};

export type AuditProblem = {
  readonly code: FindingCode;
  readonly field?: string | undefined;
  readonly id: string;
  readonly link?: ReadLink;
  readonly detail?: Detail;
};

/** A search for problems that involve several links. */
export type AuditSearch = {
  readonly add: (link: ReadLink, apps: VisitedApps) => void;
  readonly list: () => readonly AuditProblem[];
};

type FindingTally = Omit<AuditFinding, "ids" | "first" | "count"> & {
  count: number;
  readonly ids: string[];
  readonly first: ReadLink[];
};

const mostFirst = 20;

export function createFindings({ from, limit }: AuditWindow): AuditFindings {
  const tallies = new Map<string, FindingTally>();
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
