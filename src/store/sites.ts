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
    /** Goes up with every write to the project's links, apps or templates. */
    readonly generation: number;
  };

const shownColumns = [
  "projects.id",
  "projects.name",
  "projects.subdomain",
  "projects.custom_domain",
  "projects.custom_domain_verified",
  "projects.templates_enabled",
  "projects.link_in_referrer",
  "projects.suspended",
  "projects.home_url",
  "projects.not_found_url",
  "tallies.generation",
] as const;

const select = {
  subdomain: prepareSelect("projects.subdomain"),
  custom_domain: prepareSelect("projects.custom_domain"),
};

/** The project that is served under a subdomain, or under a domain of its own. */
export async function findSite(
  db: Db,
  field: "subdomain" | "custom_domain",
  value: string,
): Promise<SiteProject | undefined> {
  const row = await select[field](db, [value]);
  if (row === undefined) return undefined;
  const site = { ...row, ...readFlags(row) };
  return field === "custom_domain" && !site.custom_domain_verified ? undefined : site;
}

function prepareSelect(column: "projects.subdomain" | "projects.custom_domain") {
  return prepareQuery((db) =>
    db
      .selectFrom("projects")
      .innerJoin("tallies", "tallies.project_id", "projects.id")
      .select(shownColumns)
      .where(column, "=", ""),
  );
}
