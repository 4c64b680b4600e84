import type { Endpoint } from "./endpoint.ts";
import { contract, listEndpoints } from "./index.ts";

/**
 * What a person is asked about before it happens, in one table: the tools, `explain_access` and the
 * README read it here (design.md, "Approval"). What stands in no rule is done at once, and can be
 * undone.
 */
export type ApprovalRule = {
  /** When it asks, as the end of "asks before it …". */
  readonly when: string;
  readonly tools: readonly string[];
};

export type ApprovalReason = keyof typeof approvalRules;

const { links, iosApps, androidApps, projects } = contract;

/** So many overwrites in ten minutes need no yes of their own; the next one asks. */
export const unaskedOverwrites = { most: 20, granted: 100, window_ms: 10 * 60_000 } as const;

/** A link without clicks moves to another path without a question while it is younger than this. */
export const unaskedMove_ms = 10 * 60_000;

export const approvalRules = {
  destroys: {
    when: "deletes something, or replaces the published page template or its draft",
    tools: nameTools(({ effect }) => effect === "destroy"),
  },
  registers_app: {
    when: "registers an app, alone or as part of a link: the domain then vouches for the app",
    tools: nameTools(
      (entry) =>
        entry === iosApps.create ||
        entry === androidApps.create ||
        entry.body === links.create.body,
    ),
  },
  changes_app: {
    when: "changes any field of an app except its name",
    tools: [iosApps.update.tool, androidApps.update.tool],
  },
  changes_domain: {
    when: "changes a project's subdomain or custom domain",
    tools: [projects.update.tool],
  },
  moves_destination: {
    when: "points an existing link at another host or app, or removes its destination or app",
    tools: [links.update.tool, links.upsert.tool],
  },
  moves_path: {
    when:
      "moves a link to another path, if that link has clicks, is older than " +
      `${unaskedMove_ms / 60_000} minutes, or one of these is unknown`,
    tools: [links.update.tool],
  },
  many_rows: {
    when: "overwrites or deletes links, registers apps, or resumes a cancelled job",
    tools: ["apply_plan"],
  },
  undoes: {
    when: "makes a change that needs approval, or replaces a value that changed later",
    tools: ["undo"],
  },
  many_overwrites: {
    when:
      `overwrites for the ${unaskedOverwrites.most + 1}st time in ten minutes; ` +
      `that approval covers the next ${unaskedOverwrites.granted} within ten minutes`,
    tools: nameTools(({ effect, overwrites }) => effect === "write" && overwrites),
  },
} as const satisfies Readonly<Record<string, ApprovalRule>>;

/** Whether any call of the tool has to be approved. */
export function mayAskPerson(tool: string): boolean {
  const rules: readonly ApprovalRule[] = Object.values(approvalRules);
  return rules.some(({ tools }) => tools.includes(tool));
}

function nameTools(isMeant: (entry: Endpoint) => boolean): readonly string[] {
  return listEndpoints()
    .filter(isMeant)
    .map(({ tool }) => tool);
}
