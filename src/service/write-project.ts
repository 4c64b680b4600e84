import { messages } from "../contract/messages.ts";
import {
  Problem,
  makeTakenProblem,
  validationFailed,
  type FieldProblem,
} from "../contract/problem.ts";
import { defaultProjectSettings, type ProjectFields } from "../contract/projects.ts";
import { restoreDestinations } from "../contract/rules/destinations.ts";
import { hasSubdomains, isLinkHostOf } from "../contract/rules/link-address.ts";
import {
  checkProject,
  checkProjectPages,
  type ProjectValues,
} from "../contract/rules/project-rules.ts";
import {
  countProjects,
  findProject,
  findProjectNamed,
  insertProject,
  updateProject,
  type ProjectSettings,
  type StoredProject,
} from "../store/projects.ts";
import type { Db } from "../store/tables.ts";
import { createIdAndTime, type IdSources } from "./ids.ts";

/** Creates and changes projects, for the API and for the operator's commands. */

/** Settings that only the operator can change. */
type OperatorSettings = Partial<ProjectSettings> & {
  readonly linkOrigins?: readonly string[];
};

export async function makeProject(
  db: Db,
  sources: IdSources,
  fields: ProjectFields,
  { linkOrigins = [], ...settings }: OperatorSettings = {},
): Promise<StoredProject> {
  const values = await readValues(db, fields);
  const project = { ...defaultProjectSettings, ...settings, ...values };
  requireNone(checkPages(settings, project, linkOrigins));
  await requireAddress(db, linkOrigins);
  const { id, now } = createIdAndTime(sources);
  return insertProject(db, id, project, now);
}

export async function changeProject(
  db: Db,
  { clock }: Pick<IdSources, "clock">,
  before: StoredProject,
  fields: ProjectFields,
  { linkOrigins = [], ...settings }: OperatorSettings = {},
): Promise<StoredProject> {
  const values = await readValues(db, { ...before, ...fields }, before.id);
  requireNone(checkPages(settings, { ...before, ...settings, ...values }, linkOrigins));
  // A changed custom domain must be verified again.
  const isMoved = before.custom_domain !== values.custom_domain;
  const changes = { ...values, ...(isMoved && { custom_domain_verified: false }), ...settings };
  await updateProject(db, before.id, changes, clock.now());
  return (await findProject(db, before.id)) ?? before;
}

/** Checks only the page URLs that this call sets, so that stored URLs stay valid. */
export function checkPages(
  settings: Partial<ProjectSettings>,
  { subdomain, custom_domain, destinations }: ProjectValues & ProjectSettings,
  linkOrigins: readonly string[],
): readonly FieldProblem[] {
  return checkProjectPages(settings, {
    destinations: restoreDestinations(destinations),
    isOwnHost: (hostname) =>
      hostname === custom_domain ||
      linkOrigins.some((origin) => isLinkHostOf(origin, { subdomain }, hostname)),
  });
}

/** Rejects a second project if links have no subdomains, because its links would have no URLs. */
async function requireAddress(db: Db, linkOrigins: readonly string[]): Promise<void> {
  const shared = linkOrigins.find((origin) => !hasSubdomains(origin));
  if (shared === undefined || (await countProjects(db)) === 0) return;
  throw new Problem(400, messages.no_second_project(shared));
}

function requireNone(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw validationFailed(problems);
}

/** Returns the values to store. Throws if they break a rule or a host name is taken. */
async function readValues(db: Db, fields: ProjectFields, ownId?: string): Promise<ProjectValues> {
  const { values, problems } = checkProject(fields);
  const all = [...problems];
  for (const field of ["subdomain", "custom_domain"] as const) {
    const value = problems.some((problem) => problem.field === field) ? null : values[field];
    const other = value === null ? undefined : await findProjectNamed(db, field, value);
    if (other !== undefined && other.id !== ownId) all.push(makeTakenProblem(field));
  }
  requireNone(all);
  return values;
}
