import type { ProjectPages, ProjectValues } from "../contract/rules/project-rules.ts";
import { prepareQuery } from "./prepared-query.ts";
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

const select = {
  subdomain: prepareSelect("subdomain"),
  custom_domain: prepareSelect("custom_domain"),
};

/**
 * The project that is served under a subdomain, or under a domain of its own. Where its rows are on
 * one of many machines, only its id tells on which: who has found it before says it, and need not
 * wait for the one answer before the other is asked for.
 */
export async function findSite(
  db: Db,
  field: "subdomain" | "custom_domain",
  value: string,
  expectedId: string | undefined,
): Promise<SiteProject | undefined> {
  const [row, expected] = await Promise.all([
    select[field](db, [value]),
    expectedId === undefined ? undefined : selectGeneration(db, [expectedId]),
  ]);
  if (row === undefined) return undefined;
  const tally = row.id === expectedId ? expected : await selectGeneration(db, [row.id]);
  // It was deleted a moment ago.
  if (tally === undefined) return undefined;
  const site = { ...row, generation: tally.generation, ...readFlags(row) };
  return field === "custom_domain" && !site.custom_domain_verified ? undefined : site;
}

function prepareSelect(column: "subdomain" | "custom_domain") {
  return prepareQuery((db) =>
    db.selectFrom("projects").select(shownColumns).where(column, "=", ""),
  );
}

const selectGeneration = prepareQuery((db) =>
  db.selectFrom("tallies").select("generation").where("project_id", "=", ""),
);
