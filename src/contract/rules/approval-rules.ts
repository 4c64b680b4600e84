import type { Endpoint } from "../endpoint.ts";
import { contract, listEndpoints } from "../index.ts";
import type { JsonObject } from "../json.ts";
import { unapprovedMove_ms, unapprovedOverwrites } from "../limits.ts";
import { movesDestination, movesPath } from "./changed-destination.ts";

/**
 * The actions that need a person's approval, in one table for the tools, `explain_access` and
 * docs/reference/approvals.md. All other actions run without approval and can be undone. See
 * docs/approval.md.
 */
export type ApprovalRule = {
  /** When the rule applies, worded to complete "asks before it …". */
  readonly when: string;
  /** The tools that may need approval for this reason. */
  readonly tools: readonly string[];
  /** Whether the rule applies to a write. Omitted for rules that other code checks. */
  readonly applies?: (write: PlannedWrite) => boolean;
};

/** A write, as far as it is known before it runs. */
export type PlannedWrite = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  /** The target's record; null if it will be created, undefined if the key may not read it. */
  readonly before: JsonObject | null | undefined;
  /** The changes to the target, if known. */
  readonly changes: JsonObject;
  /** The apps that the call would register. */
  readonly registered: readonly unknown[];
  /** Whether the path is so new that probably no visitor knows it. */
  readonly isFresh?: boolean | undefined;
};

export type ApprovalReason = keyof typeof approvalRules;

const { links, iosApps, androidApps, projects } = contract;

export const approvalRules = {
  destroys: {
    when: "deletes something, or replaces the published page template or its draft",
    tools: nameTools(destroys),
    applies: ({ endpoint }) => destroys(endpoint),
  },
  registers_app: {
    when: "registers an app, by itself or with a link: the domain then vouches for the app",
    tools: nameTools(
      (entry) =>
        entry === iosApps.create ||
        entry === androidApps.create ||
        entry.body === links.create.body,
    ),
    applies: ({ registered }) => registered.length > 0,
  },
  changes_app: {
    when: "changes any field of an app except its name",
    tools: [iosApps.update.tool, androidApps.update.tool],
    applies: (write) => write.endpoint !== projects.update && changesIdentity(write),
  },
  changes_domain: {
    when: "changes a project's subdomain or custom domain",
    tools: [projects.update.tool],
    applies: (write) => write.endpoint === projects.update && changesIdentity(write),
  },
  moves_destination: {
    when: "points an existing link at another host or app, or removes its destination or app",
    tools: nameTools(overwritesLink),
    applies: ({ endpoint, before, input }) =>
      overwritesLink(endpoint) && before !== null && movesDestination(before, input),
  },
  moves_path: {
    when:
      "moves a link to another path, if that link has clicks, is older than " +
      `${unapprovedMove_ms / 60_000} minutes, or one of these is unknown`,
    tools: [links.update.tool],
    applies: ({ endpoint, before, input, isFresh }) =>
      endpoint === links.update && before !== null && movesPath(before, input) && isFresh !== true,
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

// `Object.entries` widens the keys to strings.
const rules = Object.entries(approvalRules) as readonly [ApprovalReason, ApprovalRule][];

/** Lists why a write needs approval; empty if it needs none. */
export function listReasons(write: PlannedWrite): readonly ApprovalReason[] {
  return rules.filter(([, { applies }]) => applies?.(write) === true).map(([name]) => name);
}

export function mayNeedApproval(tool: string): boolean {
  return rules.some(([, { tools }]) => tools.includes(tool));
}

function destroys({ effect }: Endpoint): boolean {
  return effect === "destroy";
}

function overwritesLink(endpoint: Endpoint): boolean {
  return endpoint === links.update || endpoint === links.upsert;
}

function changesIdentity({ endpoint, changes }: PlannedWrite): boolean {
  return endpoint.approval_fields?.some((field) => Object.hasOwn(changes, field)) === true;
}

function nameTools(matches: (entry: Endpoint) => boolean): readonly string[] {
  return listEndpoints()
    .filter(matches)
    .map(({ tool }) => tool);
}
