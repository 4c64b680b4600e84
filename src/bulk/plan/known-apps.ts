import { isDeepStrictEqual } from "node:util";
import { androidApps, iosApps, makerFacts } from "../../contract/apps.ts";
import { normalizeId, uuidPattern } from "../../contract/fields.ts";
import type { LinkFields } from "../../contract/links.ts";
import type { FieldProblem } from "../../contract/problem.ts";
import { bringsNewApp, checkAndroidApp, checkIosApp } from "../../contract/rules/app-rules.ts";
import { pickNamed } from "../../contract/rules/named-resource.ts";
import { isBlank } from "../../contract/text.ts";
import { quote } from "../../text/show-hidden.ts";
import {
  adviseUnregistered,
  describeUnregistered,
  writeNamedApp,
  type NamedApp,
} from "../../text/unregistered-app.ts";
import type { Asking, Owner } from "../owner.ts";
import {
  createProjectApps,
  isWhole,
  readIdentifier,
  type AppMember,
  type ProjectApps,
} from "../select/project-apps.ts";

/** The apps that a project has registered, by which rows choose theirs. */

export type KnownApps = { readonly ios: KnownKind; readonly android: KnownKind };

type RegisteredApp = NamedApp & { readonly id: string };

/**
 * Undefined where no row has named one yet, where the key may not read them, and where one of them
 * could not be read: it may be the one that a row names.
 */
type KnownKind =
  | {
      readonly idsByName: ReadonlyMap<string, string>;
      readonly registered: readonly RegisteredApp[];
    }
  | undefined;

export const noApps: KnownApps = { ios: undefined, android: undefined };

/** The apps of the kinds that the fields name. */
export type ReadApps = (fields: LinkFields) => Promise<KnownApps>;

/** Asks for each kind of app once, as soon as a row names one. */
export function createAppReader(asking: Asking): ReadApps {
  const apps = createProjectApps(asking);
  let ios: Promise<KnownKind> | undefined;
  let android: Promise<KnownKind> | undefined;
  return async ({ ios_app, android_app }) => {
    if (ios_app) ios ??= readKind("ios_app", apps);
    if (android_app) android ??= readKind("android_app", apps);
    // Together: a failure of one while the other is waited for would go unhandled.
    const [knownIos, knownAndroid] = await Promise.all([ios, android]);
    return { ios: knownIos, android: knownAndroid };
  };
}

export type AppChoice = ReturnType<typeof listAppChoices>[number];

/** How a row chooses an app of each kind: by its id, or by the name that it has in its store. */
export function listAppChoices(fields: LinkFields, known: KnownApps) {
  const { ios_app: ios, android_app: android } = fields;
  return [
    {
      member: "ios_app" as const,
      kind: "iOS app",
      needs: makerFacts.ios_app,
      field: "ios_app_id",
      create: iosApps.create,
      choice: ios,
      name: ios?.bundle_id,
      known: known.ios,
      check: () => checkIosApp(ios ?? {}),
    },
    {
      member: "android_app" as const,
      kind: "Android app",
      needs: makerFacts.android_app,
      field: "android_app_id",
      create: androidApps.create,
      choice: android,
      name: android?.package_name,
      known: known.android,
      check: () => checkAndroidApp(android ?? {}),
    },
  ];
}

/**
 * Refuses a row that would register an app with a key that may not: as a whole, for a job would
 * stop at that row. Where the key may not read the apps, a row that says all that a registration
 * needs is taken for one.
 */
export function requireRegistrationRights(
  { requireRight }: Pick<Owner, "requireRight">,
  fields: LinkFields,
  known: KnownApps,
): void {
  for (const choice of listAppChoices(fields, known)) {
    if (wouldRegister(choice)) requireRight?.(choice.create);
  }
}

function wouldRegister({ choice, name, known, check }: AppChoice): boolean {
  if (!choice || !isBlank(choice.id) || isBlank(name)) return false;
  return known?.idsByName.has(name ?? "") !== true && check().problems.length === 0;
}

/**
 * The fields without what would register an app that is registered already: if it were deleted
 * before the row is done, the row would register it anew, and nobody would have been asked.
 */
export function dropRegistrations(fields: LinkFields, { ios, android }: KnownApps): LinkFields {
  const { ios_app, android_app } = fields;
  const bundle_id = isBlank(ios_app?.id) ? (ios_app?.bundle_id ?? "") : "";
  const package_name = isBlank(android_app?.id) ? (android_app?.package_name ?? "") : "";
  return {
    ...fields,
    ...(ios?.idsByName.has(bundle_id) === true && { ios_app: { bundle_id } }),
    ...(android?.idsByName.has(package_name) === true && { android_app: { package_name } }),
  };
}

/** What the API would refuse about the apps of a row, as one sentence. */
export function findAppFault(fields: LinkFields, known: KnownApps): string | undefined {
  const choices = listAppChoices(fields, known);
  const missing = choices.flatMap((app) => findMissingId(app) ?? []);
  const unregistered = choices.filter(isUnregistered).map(({ kind, name, known: apps }) => {
    return describeUnregistered({ label: kind, identifier: name ?? "" }, apps?.registered ?? []);
  });
  const them = unregistered.length > 1 ? "them" : "it";
  const advice = `register ${them} first, or leave ${them} out`;
  const [first, ...others] = [...missing, ...unregistered];
  if (first === undefined) return undefined;
  const rest = others.map((fault) => `${fault.charAt(0).toLowerCase()}${fault.slice(1)}`);
  return [first, ...rest, ...(unregistered.length > 0 ? [advice] : [])].join("; ");
}

function findMissingId({ kind, choice, known }: AppChoice): string | undefined {
  if (!choice || known === undefined || isBlank(choice.id)) return undefined;
  const isThere = [...known.idsByName.values()].includes(normalizeId(choice.id ?? ""));
  return isThere ? undefined : `No ${kind} has the ID ${choice.id}`;
}

/** Whether the app is not registered, and the row lacks a field that registering needs. */
function isUnregistered({ choice, name, known, check }: AppChoice): boolean {
  if (!choice || known === undefined || !isBlank(choice.id)) return false;
  return !known.idsByName.has(name ?? "") && check().problems.length > 0;
}

function explainUnregistered(
  { kind, needs }: Pick<AppChoice, "kind" | "needs">,
  identifier: string,
  registered: readonly NamedApp[],
): string {
  const missing = { label: kind, identifier, needs };
  const advice = adviseUnregistered(missing, registered);
  return `${describeUnregistered(missing, registered)}; ${advice}`;
}

/**
 * Tells of a row that says something else of a new app than an earlier row of its plan: whichever
 * of them comes first would register it, and a person is shown each app once.
 */
export function createAppComparison(): (row: number, fields: LinkFields) => string | undefined {
  const firsts = new Map<string, { readonly row: number; readonly choice: object }>();
  return (row, fields) => {
    for (const { kind, choice, name } of listAppChoices(fields, noApps)) {
      if (!choice || !bringsNewApp(choice)) continue;
      const app = `${kind} ${name}`;
      const first = firsts.get(app);
      if (first === undefined) firsts.set(app, { row, choice });
      else if (!isDeepStrictEqual(first.choice, choice)) {
        const there = `row ${first.row}`;
        return `The fields of the ${app} differ from those in ${there}; use the same in both`;
      }
    }
    return undefined;
  };
}

async function readKind(member: AppMember, apps: ProjectApps): Promise<KnownKind> {
  const list = await apps.list(member);
  if (list === undefined || !isWhole(list)) return undefined;
  const registered = list.rows.map((app) => {
    return { id: app.id, name: app.name, identifier: readIdentifier(app) };
  });
  const named = registered.flatMap(({ id, identifier }) =>
    identifier === undefined ? [] : [[identifier, id] as const],
  );
  return { idsByName: new Map(named), registered };
}

/** The apps that a person's words mean: a name stands where the API takes an id or a bundle id. */

type Chosen = { readonly fields: LinkFields; readonly problems: readonly FieldProblem[] };

/** An app that nothing fits is taken out, for what is wrong with it has been told. */
export function chooseApps(given: LinkFields, known: KnownApps, takesAnyId: boolean): Chosen {
  const problems: FieldProblem[] = [];
  let fields = given;
  for (const app of listAppChoices(given, known)) {
    const { member } = app;
    const choice = chooseApp(app, takesAnyId);
    if (choice === undefined) continue;
    const { [member]: _given, ...others } = fields;
    if ("id" in choice) fields = { ...others, [member]: { id: choice.id } };
    else {
      fields = others;
      problems.push({ field: member, message: choice.message });
    }
  }
  return { fields, problems };
}

/** Undefined where the choice stands as it is. */
function chooseApp(
  app: AppChoice,
  takesAnyId: boolean,
): { readonly id: string } | { readonly message: string } | undefined {
  const { kind, choice, name, known } = app;
  if (!choice || known === undefined || bringsNewApp(choice)) return undefined;
  const { registered, idsByName } = known;
  const isById = !isBlank(choice.id);
  const text = (isById ? choice.id : name) ?? "";
  if (isBlank(text) || (isById ? uuidPattern.test(text) : idsByName.has(text))) return undefined;
  if (isById && registered.some(({ id }) => id === normalizeId(text))) return undefined;
  const found = pickNamed(registered, text, {
    unique: ({ identifier }) => readText(identifier),
    name: (each) => readText(each.name),
  });
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return { id: only.id };
  if (only !== undefined) {
    const all = found.map(writeNamedApp).toSorted();
    return { message: `More than one ${kind} is named ${quote(text)}: ${all.join(", ")}` };
  }
  if (isById ? takesAnyId : isIdentifier(app)) return undefined;
  return { message: explainUnregistered(app, text, registered) };
}

/** The identifier of an app that isn't registered is reported with the link that needs it. */
function isIdentifier({ member, check }: AppChoice): boolean {
  const key = member === "ios_app" ? "bundle_id" : "package_name";
  return !check().problems.some(({ field }) => field === key);
}

function readText(value: unknown): string {
  return typeof value === "string" ? value : "";
}
