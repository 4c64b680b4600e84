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
import { placeProblem, type Row } from "../rows/check-rows.ts";
import {
  appKinds,
  appMembers,
  describeApp,
  findChosen,
  isWhole,
  readChoice,
  readIdentifier,
  type AppList,
  type AppMember,
  type ProjectApps,
} from "../../lists/project-apps.ts";

/** Finds the registered apps that rows refer to. */

export type AppRules = Pick<Owner, "requireRight" | "takesAnyId"> & {
  readonly apps: ProjectApps;
  /** Whether rows may also identify an app by its name. */
  readonly takesNames: boolean;
};

/** A row after its apps were found. Its fields refer to apps in the form that the API expects. */
export type SettledRow = Row & {
  /** The IDs of the link's apps after the write. Null for no app. For a new app, a placeholder. */
  readonly appIds: Readonly<Record<string, string | null>>;
  /** Why the API would reject the apps, without a period. */
  readonly fault?: string | undefined;
};

/**
 * Creates a function that finds the apps of rows. The function throws if a row registers an app and
 * the key lacks the permission. If the list of apps cannot be read, a row with all fields of an app
 * counts as a registration. All rows that register the same app must have the same fields. For a
 * registered app, only the bundle ID or package name is kept. With all fields, the write would
 * register the app again if it has been deleted since.
 */
export function createAppSettling(rules: AppRules) {
  const firsts = new Map<string, { readonly row: number | null; readonly choice: object }>();
  return async (given: Row): Promise<SettledRow> => {
    const { row } = given;
    const fields: LinkFields = { ...given.fields };
    const appIds: Record<string, string | null> = {};
    const problems = [...given.problems];
    const faults: string[] = [];
    const newApps: AppMember[] = [];
    for (const member of appMembers) {
      const choice = given.fields[member];
      if (choice === undefined) continue;
      appIds[`${member}_id`] = null;
      if (choice === null) continue;
      const app = settleApp(member, choice, await rules.apps.list(member), rules);
      fields[member] = app.choice ?? choice;
      appIds[`${member}_id`] = app.id;
      problems.push(...(app.problems ?? []).map((problem) => placeProblem(row, problem)));
      if (app.fault !== undefined) faults.push(app.fault);
      if (app.isNew === true) newApps.push(member);
    }
    const fault = faults.length > 0 ? faults.join("; ") : undefined;
    const settled = { ...given, fields, appIds, problems, fault };
    if (problems.length > 0 || fault !== undefined) return settled;
    for (const member of newApps) {
      rules.requireRight?.(findRegistration(member));
      const choice = fields[member] ?? {};
      const app = `${appKinds[member].label} ${readChoice(choice)}`;
      const first = firsts.get(app) ?? { row, choice };
      firsts.set(app, first);
      if (isDeepStrictEqual(first.choice, choice)) continue;
      const message = `The fields of the ${app} differ from those in row ${first.row}`;
      problems.push(placeProblem(row, { field: "", message: `${message}; use the same in both` }));
    }
    return settled;
  };
}

type AppFields = NonNullable<LinkFields["ios_app"]> & NonNullable<LinkFields["android_app"]>;

type SettledApp = {
  readonly choice?: AppFields;
  readonly id: string;
  readonly problems?: readonly FieldProblem[];
  readonly fault?: string;
  readonly isNew?: boolean;
};

function settleApp(
  member: AppMember,
  choice: AppFields,
  list: AppList | undefined,
  { takesAnyId = false, takesNames }: AppRules,
): SettledApp {
  const { label, key = "" } = appKinds[member];
  const apps = list && isWhole(list) ? list.rows : [];
  const isById = !isBlank(choice.id);
  const text = readChoice(choice);
  const [app, ...others] = findChosen(apps, choice, takesNames);
  const isByOwnKey =
    app && (isById ? normalizeId(app.id) === normalizeId(text) : readIdentifier(app) === text);
  const isNamed = app !== undefined && takesNames && !isByOwnKey;
  if (isNamed && others.length === 0) return { choice: { id: app.id }, id: app.id };
  const id = isById ? normalizeId(text) : (app?.id ?? `the app ${text}`);
  const refuse = (message: string) => ({ id, problems: [{ field: member, message }] });
  if (isNamed) {
    const all = [app, ...others].map((one) => writeNamedApp(describeApp(one))).toSorted();
    return refuse(`More than one ${label} is named ${quote(text)}: ${all.join(", ")}`);
  }
  const { problems: faults } = (member === "ios_app" ? checkIosApp : checkAndroidApp)(choice);
  const isId = isById && (takesAnyId || uuidPattern.test(text));
  const isKnown = list !== undefined && isWhole(list);
  const missing = { label, identifier: text, needs: makerFacts[member] };
  const registered = apps.map(describeApp);
  const unregistered = describeUnregistered(missing, registered);
  const isUnknownName = takesNames && isKnown && app === undefined && !bringsNewApp(choice);
  const isNoIdentifier = isById ? !isId : faults.some(({ field }) => field === key);
  if (isUnknownName && isNoIdentifier && !isBlank(text)) {
    return refuse(`${unregistered}; ${adviseUnregistered(missing, registered)}`);
  }
  const given = new Map(Object.entries(choice));
  const problems = faults
    .filter(({ field }) => !isBlank(given.get(field)))
    .map(({ field, message }) => ({ field: `${member}.${field}`, message }));
  if (isById && !isId) {
    problems.push({ field: `${member}.id`, message: `The id of ${member} is not a UUID` });
  }
  const settled = { id, problems };
  if (app !== undefined) return isById ? settled : { ...settled, choice: { [key]: text } };
  if (!isById && faults.length === 0) return { ...settled, isNew: true };
  if (!isKnown) return settled;
  if (isById) return { ...settled, fault: `No ${label} has the ID ${text}` };
  return { ...settled, fault: `${unregistered}; register it first, or leave it out` };
}
