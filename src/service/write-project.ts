import { takenFault, validationFailed, type FieldProblem } from "../contract/problem.ts";
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
import { stamp, type Services } from "./handler.ts";

/** How a project comes to be and changes, by the API or by the operator, in a transaction. */

type Maker = Pick<Services, "clock" | "random">;

export async function makeProject(
  db: Db,
  maker: Maker,
  fields: ProjectFields,
  settings: Partial<ProjectSettings> = {},
): Promise<StoredProject> {
  const values = await accept(db, fields);
  const { id, now } = stamp(maker);
  return insertProject(db, id, { ...defaultProjectSettings, ...settings, ...values }, now);
}

export async function changeProject(
  db: Db,
  { clock }: Pick<Maker, "clock">,
  before: StoredProject,
  fields: ProjectFields,
  settings: Partial<ProjectSettings> = {},
): Promise<StoredProject> {
  const values = await accept(db, { ...before, ...fields }, before.id);
  // Another custom domain has not been verified yet.
  const isMoved = before.custom_domain !== values.custom_domain;
  const doubt = isMoved ? { custom_domain_verified: false } : {};
  await updateProject(db, before.id, { ...values, ...doubt, ...settings }, clock.now());
  return (await findProject(db, before.id)) ?? before;
}

/** The values to store, when nothing is wrong with them and both host names are free. */
async function accept(db: Db, fields: ProjectFields, ownId?: string): Promise<ProjectValues> {
  const { values, problems } = checkProject(fields);
  const all: FieldProblem[] = [...problems];
  for (const field of ["subdomain", "custom_domain"] as const) {
    const value = problems.some((problem) => problem.field === field) ? null : values[field];
    const other = value === null ? undefined : await findProjectNamed(db, field, value);
    if (other === undefined || other.id === ownId) continue;
    all.push(takenFault(field));
  }
  if (all.length > 0) throw validationFailed(all);
  return values;
}
