import type { Endpoint } from "./endpoint.ts";
import { contract, listEndpoints } from "./index.ts";

/**
 * The actions that a person must approve, in one table for the tools, `explain_access` and the
 * README. All other actions happen at once and can be undone. See docs/approval.md.
 */
export type ApprovalRule = {
  /** When the rule applies, worded as the end of "asks before it …". */
  readonly when: string;
  readonly tools: readonly string[];
};

export type ApprovalReason = keyof typeof approvalRules;

const { links, iosApps, androidApps, projects } = contract;

/** The first `most` overwrites in a window need no approval; one approval covers `granted` more. */
export const unapprovedOverwrites = { most: 20, granted: 100, window_ms: 10 * 60_000 } as const;

/**
 * A link without clicks can move to another path without approval while it is younger than this.
 */
export const unapprovedMove_ms = 10 * 60_000;

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
      `${unapprovedMove_ms / 60_000} minutes, or one of these is unknown`,
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
      `overwrites for the ${unapprovedOverwrites.most + 1}st time in ten minutes; ` +
      `that approval covers the next ${unapprovedOverwrites.granted} within ten minutes`,
    tools: nameTools(({ effect, overwrites }) => effect === "write" && overwrites),
  },
} as const satisfies Readonly<Record<string, ApprovalRule>>;

/** Whether some calls of the tool need approval. */
export function mayNeedApproval(tool: string): boolean {
  const rules: readonly ApprovalRule[] = Object.values(approvalRules);
  return rules.some(({ tools }) => tools.includes(tool));
}

function nameTools(matches: (entry: Endpoint) => boolean): readonly string[] {
  return listEndpoints()
    .filter(matches)
    .map(({ tool }) => tool);
}
