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
  type NamedApp,
} from "../../text/unregistered-app.ts";
import type { Owner } from "../owner.ts";
import {
  appKinds,
  appMembers,
  isWhole,
  pickNamedApps,
  readIdentifier,
  type App,
  type AppMember,
  type ProjectApps,
} from "../select/project-apps.ts";

/** The apps that rows choose, held against those that the project has registered. */

/** A kind is missing where no row names one, and where one of its apps could not be read. */
export type KnownApps = Readonly<Partial<Record<AppMember, readonly App[]>>>;

export const noApps: KnownApps = {};

/** The apps of the kinds that the fields name. */
export async function readKnownApps(apps: ProjectApps, fields: LinkFields): Promise<KnownApps> {
  const known: Partial<Record<AppMember, readonly App[]>> = {};
  for (const member of appMembers) {
    const list = fields[member] ? await apps.list(member) : undefined;
    if (list !== undefined && isWhole(list)) known[member] = list.rows;
  }
  return known;
}

type AppFields = NonNullable<LinkFields["ios_app"]> & NonNullable<LinkFields["android_app"]>;

/** How a row chooses an app of each kind: by its id, or by the name that it has in its store. */
function listChoices(fields: LinkFields, known: KnownApps) {
  return appMembers.flatMap((member) => {
    const choice: AppFields | null | undefined = fields[member];
    if (!choice) return [];
    const isById = !isBlank(choice.id);
    const text = (isById ? choice.id : (choice.bundle_id ?? choice.package_name)) ?? "";
    const apps = known[member];
    const app = apps?.find((each) =>
      isById ? each.id === normalizeId(text) : readIdentifier(each) === text,
    );
    return [{ member, ...appKinds[member], choice, isById, text, apps, app }];
  });
}

type Choice = ReturnType<typeof listChoices>[number];

function checkApp({ member, choice }: Choice): readonly FieldProblem[] {
  return (member === "ios_app" ? checkIosApp(choice) : checkAndroidApp(choice)).problems;
}

type SettledApps = {
  readonly fields: LinkFields;
  /** What the API would refuse about the apps, as one sentence. */
  readonly fault: string | undefined;
};

/**
 * The fields without what would register an app that is registered already: if it were deleted
 * before the row is done, the row would register it anew, and nobody would have been asked. Refuses
 * a row that would register an app with a key that may not: as a whole, for a job would stop at
 * that row. Where the key may not read the apps, a row that says all that a registration needs is
 * taken for one.
 */
export function settleApps(
  given: LinkFields,
  known: KnownApps,
  { requireRight }: Pick<Owner, "requireRight">,
): SettledApps {
  const fields: LinkFields = { ...given };
  const missing: string[] = [];
  const unregistered: string[] = [];
  for (const each of listChoices(given, known)) {
    const { member, label, key = "", isById, text, apps, app } = each;
    if (isById) {
      if (apps !== undefined && app === undefined) missing.push(`No ${label} has the ID ${text}`);
    } else if (app !== undefined) fields[member] = { [key]: text };
    else if (checkApp(each).length === 0) requireRight?.(findRegistration(member));
    else if (apps !== undefined) {
      unregistered.push(describeUnregistered({ label, identifier: text }, apps.map(nameApp)));
    }
  }
  const them = unregistered.length > 1 ? "them" : "it";
  const advice = unregistered.length === 0 ? [] : [`register ${them} first, or leave ${them} out`];
  const [first, ...others] = [...missing, ...unregistered];
  const rest = others.map((fault) => `${fault.charAt(0).toLowerCase()}${fault.slice(1)}`);
  return { fields, fault: first && [first, ...rest, ...advice].join("; ") };
}

function nameApp(app: App): NamedApp {
  return { name: app.name, identifier: readIdentifier(app) };
}

/** What the link's app would be, by the field that shows it; without an id, a new one. */
export function listAppIds(
  fields: LinkFields,
  known: KnownApps,
): readonly (readonly [string, unknown])[] {
  const removed = appMembers.filter((member) => fields[member] === null);
  return [
    ...removed.map((member) => [`${member}_id`, null] as const),
    ...listChoices(fields, known).map(({ member, isById, text, app }) => {
      return [`${member}_id`, isById ? normalizeId(text) : (app?.id ?? `the app ${text}`)] as const;
    }),
  ];
}

/**
 * Reports a row that says something else of a new app than an earlier row of its plan: whichever
 * of them comes first would register it, and a person is shown each app once.
 */
export function createAppComparison(): (row: number, fields: LinkFields) => string | undefined {
  const firsts = new Map<string, { readonly row: number; readonly choice: object }>();
  return (row, fields) => {
    for (const { label, choice, text } of listChoices(fields, noApps)) {
      if (!bringsNewApp(choice)) continue;
      const app = `${label} ${text}`;
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

/**
 * The apps that a person's words mean: a name stands where the API takes an id or a bundle id. An
 * app that nothing fits is taken out, and what is wrong with it is among the problems.
 */
export function chooseApps(
  given: LinkFields,
  known: KnownApps,
  takesAnyId: boolean,
): { readonly fields: LinkFields; readonly problems: readonly FieldProblem[] } {
  const problems: FieldProblem[] = [];
  let fields = given;
  for (const each of listChoices(given, known)) {
    const { member, label, choice, isById, text, apps, app } = each;
    const isSettled = app !== undefined || isBlank(text) || (isById && uuidPattern.test(text));
    if (apps === undefined || isSettled || bringsNewApp(choice)) continue;
    const [only, ...others] = pickNamedApps(apps, text);
    // The identifier of an app that isn't registered is reported with the link that needs it.
    if (only === undefined && (isById ? takesAnyId : isIdentifier(each))) continue;
    const { [member]: _given, ...rest } = fields;
    if (only !== undefined && others.length === 0) {
      fields = { ...rest, [member]: { id: only.id } };
      continue;
    }
    fields = rest;
    const all = [only, ...others].flatMap((found) => (found ? writeNamedApp(nameApp(found)) : []));
    const several = `More than one ${label} is named ${quote(text)}: ${all.toSorted().join(", ")}`;
    const message = only === undefined ? explainUnregistered(each, apps) : several;
    problems.push({ field: member, message });
  }
  return { fields, problems };
}

function isIdentifier(each: Choice): boolean {
  return !checkApp(each).some(({ field }) => field === each.key);
}

function explainUnregistered({ member, label, text }: Choice, apps: readonly App[]): string {
  const registered = apps.map(nameApp);
  const missing = { label, identifier: text, needs: makerFacts[member] };
  const advice = adviseUnregistered(missing, registered);
  return `${describeUnregistered(missing, registered)}; ${advice}`;
}
