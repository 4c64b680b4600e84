import { isDeepStrictEqual } from "node:util";
import { findRegistration, makerFacts } from "../../contract/apps.ts";
import { normalizeId, uuidPattern } from "../../contract/fields.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { bringsNewApp, checkAndroidApp, checkIosApp } from "../../contract/rules/app-rules.ts";
import { isBlank } from "../../contract/text.ts";
import { quote } from "../../text/show-hidden.ts";
import {
  adviseUnregistered,
  describeUnregistered,
  writeNamedApp,
} from "../../text/unregistered-app.ts";
import type { Owner } from "../owner.ts";
import {
  appKinds,
  appMembers,
  describeApp,
  isWhole,
  pickNamedApps,
  readIdentifier,
  type ProjectApp,
  type AppMember,
  type ProjectApps,
} from "../select/project-apps.ts";

/** Matches the apps in rows with the project's registered apps. */

export type AppRules = Pick<Owner, "requireRight"> & {
  readonly apps: ProjectApps;
  /** Whether ids need not be UUIDs. */
  readonly takesAnyId: boolean;
  /** Whether rows may contain an app's name instead of its id or bundle id. */
  readonly takesNames: boolean;
};

export type SettledFields = {
  /** The fields as the API expects them, with resolved apps. */
  readonly fields: LinkFields;
  /**
   * The ids of the link's apps after the write: null for no app, and a placeholder for a new app.
   */
  readonly appIds: Readonly<Record<string, string | null>>;
};

type SettledApps = SettledFields & {
  readonly problems: readonly FieldProblem[];
  /** Why the API would reject the apps, as one sentence. */
  readonly fault: string | undefined;
};

/**
 * Creates the function that resolves the apps of rows. It drops the details of a registered app,
 * which would register the app again without approval if it were deleted before the write. It
 * rejects a row that needs a new app if the key may not register apps. If the app list cannot be
 * read, a row with all details of an app is treated as a registration. All rows must describe a new
 * app identically, because the first row registers it.
 */
export function createAppSettling(rules: AppRules) {
  const firsts = new Map<string, { readonly row: number | null; readonly choice: object }>();
  return async (
    given: LinkFields,
    row: number | null = null,
    isApplicable = true,
  ): Promise<SettledApps> => {
    const fields: LinkFields = { ...given };
    const appIds: Record<string, string | null> = {};
    const problems: FieldProblem[] = [];
    const faults: string[] = [];
    const newApps: AppMember[] = [];
    for (const member of appMembers) {
      const choice = given[member];
      if (choice === undefined) continue;
      appIds[`${member}_id`] = null;
      if (choice === null) continue;
      const list = await rules.apps.list(member);
      const apps = list && isWhole(list) ? list.rows : undefined;
      const app = settleApp(member, choice, apps, rules);
      fields[member] = app.choice ?? choice;
      appIds[`${member}_id`] = app.id;
      problems.push(...(app.problems ?? []));
      if (app.fault !== undefined) faults.push(app.fault);
      if (app.isNew === true) newApps.push(member);
    }
    const fault = faults.length > 0 ? faults.join("; ") : undefined;
    const settled = { fields, appIds, problems, fault };
    if (problems.length > 0 || faults.length > 0 || !isApplicable) return settled;
    for (const member of newApps) {
      rules.requireRight?.(findRegistration(member));
      const choice = fields[member] ?? {};
      const app = `${appKinds[member].label} ${readChoice(choice)}`;
      const first = firsts.get(app) ?? { row, choice };
      firsts.set(app, first);
      if (isDeepStrictEqual(first.choice, choice)) continue;
      const message = `The fields of the ${app} differ from those in row ${first.row}`;
      problems.push({ field: "", message: `${message}; use the same in both` });
    }
    return settled;
  };
}

type AppFields = NonNullable<LinkFields["ios_app"]> & NonNullable<LinkFields["android_app"]>;

type SettledApp = {
  readonly choice?: AppFields;
  readonly id: string;
  readonly problems?: readonly FieldProblem[];
  /** Why the API would reject the app. */
  readonly fault?: string;
  readonly isNew?: boolean;
};

/** Returns the id, bundle id or package name in the row. */
function readChoice({ id, bundle_id, package_name }: AppFields): string {
  return (isBlank(id) ? (bundle_id ?? package_name) : id) ?? "";
}

/** `apps` is undefined if the app list is incomplete. */
function settleApp(
  member: AppMember,
  choice: AppFields,
  apps: readonly ProjectApp[] | undefined,
  { takesAnyId, takesNames }: AppRules,
): SettledApp {
  const { label, key = "" } = appKinds[member];
  const isById = !isBlank(choice.id);
  const text = readChoice(choice);
  const app = apps?.find((each) =>
    isById ? each.id === normalizeId(text) : readIdentifier(each) === text,
  );
  const { problems: faults } = (member === "ios_app" ? checkIosApp : checkAndroidApp)(choice);
  const id = isById ? normalizeId(text) : (app?.id ?? `the app ${text}`);
  const registered = apps?.map(describeApp) ?? [];
  const missing = { label, identifier: text, needs: makerFacts[member] };
  const isId = isById && uuidPattern.test(text);
  const isName = takesNames && !isBlank(text) && !isId && !bringsNewApp(choice);
  if (isName && apps !== undefined && app === undefined) {
    const [only, ...others] = pickNamedApps(apps, text);
    if (only !== undefined && others.length === 0) return { choice: { id: only.id }, id: only.id };
    const refuse = (message: string) => ({ id, problems: [{ field: member, message }] });
    if (only !== undefined) {
      const all = [only, ...others].map((one) => writeNamedApp(describeApp(one))).toSorted();
      return refuse(`More than one ${label} is named ${quote(text)}: ${all.join(", ")}`);
    }
    // Text that may be an ID or identifier is reported below instead.
    if (isById ? !takesAnyId : faults.some(({ field }) => field === key)) {
      const advice = adviseUnregistered(missing, registered);
      return refuse(`${describeUnregistered(missing, registered)}; ${advice}`);
    }
  }
  const given = new Map(Object.entries(choice));
  const problems = faults
    .filter(({ field }) => !isBlank(given.get(field)))
    .map(({ field, message }) => ({ field: `${member}.${field}`, message }));
  if (isById && !takesAnyId && !isId) {
    problems.push({ field: `${member}.id`, message: `The id of ${member} is not a UUID` });
  }
  const settled = { id, problems };
  if (app !== undefined) return isById ? settled : { ...settled, choice: { [key]: text } };
  if (!isById && faults.length === 0) return { ...settled, isNew: true };
  if (apps === undefined) return settled;
  if (isById) return { ...settled, fault: `No ${label} has the ID ${text}` };
  const unregistered = describeUnregistered(missing, registered);
  return { ...settled, fault: `${unregistered}; register it first, or leave it out` };
}
