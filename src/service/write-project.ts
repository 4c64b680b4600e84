import { takenFault, validationFailed } from "../contract/problem.ts";
import { defaultProjectSettings, type ProjectFields } from "../contract/projects.ts";
import { checkProject, type ProjectValues } from "../contract/rules/project-rules.ts";
import {
  findProject,
  findProjectNamed,
  insertProject,
  updateProject,
  type ProjectSettings,
  type StoredProject,
} from "../store/projects.ts";
import type { Db } from "../store/tenant.ts";
import { createIdAndTime, type IdSources } from "./ids.ts";

/** How a project comes to be and changes, by the API or by the operator, in a transaction. */

export async function makeProject(
  db: Db,
  sources: IdSources,
  fields: ProjectFields,
  settings: Partial<ProjectSettings> = {},
): Promise<StoredProject> {
  const values = await readValues(db, fields);
  const { id, now } = createIdAndTime(sources);
  return insertProject(db, id, { ...defaultProjectSettings, ...settings, ...values }, now);
}

export async function changeProject(
  db: Db,
  { clock }: Pick<IdSources, "clock">,
  before: StoredProject,
  fields: ProjectFields,
  settings: Partial<ProjectSettings> = {},
): Promise<StoredProject> {
  const values = await readValues(db, { ...before, ...fields }, before.id);
  // Another custom domain has not been verified yet.
  const isMoved = before.custom_domain !== values.custom_domain;
  const changes = { ...values, ...(isMoved && { custom_domain_verified: false }), ...settings };
  await updateProject(db, before.id, changes, clock.now());
  return (await findProject(db, before.id)) ?? before;
}

/** The values to store, when nothing is wrong with them and both host names are free. */
async function readValues(db: Db, fields: ProjectFields, ownId?: string): Promise<ProjectValues> {
  const { values, problems } = checkProject(fields);
  const all = [...problems];
  for (const field of ["subdomain", "custom_domain"] as const) {
    const value = problems.some((problem) => problem.field === field) ? null : values[field];
    const other = value === null ? undefined : await findProjectNamed(db, field, value);
    if (other !== undefined && other.id !== ownId) all.push(takenFault(field));
  }
  if (all.length > 0) throw validationFailed(all);
  return values;
}
