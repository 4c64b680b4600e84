import type { ProjectPages, ProjectValues } from "../contract/rules/project-rules.ts";
import { prepareQuery, prepareRows } from "./prepared-query.ts";
import { readFlags } from "./projects.ts";
import type { ProjectFlag } from "./tables.ts";
import type { Db } from "./tenant.ts";

/** What the link host needs of a project. */
export type SiteProject = ProjectValues &
  ProjectPages &
  Readonly<Record<ProjectFlag, boolean>> & {
    readonly id: string;
    readonly plan: "free" | "pro";
    /** Goes up with every write to the project's links, apps or templates. */
    readonly generation: number;
  };

const shownColumns = [
  "id",
  "name",
  "plan",
  "subdomain",
  "custom_domain",
  "custom_domain_verified",
  "templates_enabled",
  "link_in_referrer",
  "clipboard",
  "suspended",
  "home_url",
  "not_found_url",
] as const;

/** The project that is served at a host name, and which of its names that is. */
export type FoundSite = {
  readonly project: SiteProject;
  readonly by: "subdomain" | "custom_domain";
};

/** The subdomain of the oldest project, which is served where all links share one host. */
export async function findOldestSubdomain(db: Db): Promise<string | undefined> {
  const row = await db
    .selectFrom("projects")
    .select("subdomain")
    .orderBy("created_at")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row?.subdomain;
}

/**
 * The project whose verified custom domain is this host name, or else the one with the subdomain
 * that the link origin's pattern reads in it.
 */
export async function findSite(
  db: Db,
  { hostname, subdomain }: { readonly hostname: string; readonly subdomain: string | undefined },
): Promise<FoundSite | undefined> {
  // No project has an empty subdomain.
  const rows = await selectNamed(db, [hostname, subdomain ?? ""]);
  const isVerified = (row: (typeof rows)[number]) =>
    row.custom_domain === hostname && row.custom_domain_verified === 1;
  const own = rows.find(isVerified);
  const row = own ?? rows.find((each) => each.subdomain === subdomain);
  if (row === undefined) return undefined;
  const tally = await selectGeneration(db, [row.id]);
  // It was deleted a moment ago.
  if (tally === undefined) return undefined;
  const project = { ...row, generation: tally.generation, ...readFlags(row) };
  return { project, by: own === undefined ? "subdomain" : "custom_domain" };
}

const selectNamed = prepareRows((db) =>
  db
    .selectFrom("projects")
    .select(shownColumns)
    .where((eb) => eb.or([eb("custom_domain", "=", ""), eb("subdomain", "=", "")])),
);

const selectGeneration = prepareQuery((db) =>
  db.selectFrom("tallies").select("generation").where("project_id", "=", ""),
);
