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

/** Compares the apps that rows choose with those that the project has registered. */

/**
 * A kind is missing when no row names one of its apps, or when one of its apps could not be read.
 */
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

function checkApp({ member, choice }: Pick<Choice, "member" | "choice">): readonly FieldProblem[] {
  return (member === "ios_app" ? checkIosApp(choice) : checkAndroidApp(choice)).problems;
}

type SettledApps = {
  readonly fields: LinkFields;
  readonly problems: readonly FieldProblem[];
  /** What the API would refuse about the apps, as one sentence. */
  readonly fault: string | undefined;
};

type Settling = Pick<Owner, "requireRight"> & {
  readonly takesAnyId: boolean;
  /** Whether rows may give an app's name where the API takes an id or a bundle id. */
  readonly takesNames: boolean;
};

/**
 * Returns the fields with the apps as the API takes them. Details of an app that is already
 * registered are left out: if it were deleted before the row is applied, they would register it
 * again without approval. A row that would register an app is refused as a whole if the key may not
 * do that, because a job would stop at it. If the key may not read the apps, a row with all that a
 * registration needs counts as one.
 */
export function settleApps(
  given: LinkFields,
  known: KnownApps,
  { requireRight, takesAnyId, takesNames }: Settling,
): SettledApps {
  const fields: LinkFields = { ...given };
  const problems: FieldProblem[] = [];
  const missing: string[] = [];
  const unregistered: string[] = [];
  const brought: AppMember[] = [];
  for (const each of listChoices(given, known)) {
    const { member, label, key = "", isById, text, apps, app } = each;
    const named = takesNames ? findNamed(each, takesAnyId) : undefined;
    if (named !== undefined) {
      if ("id" in named) fields[member] = named;
      else problems.push({ field: member, message: named.message });
      continue;
    }
    problems.push(...findFaults(each, takesAnyId));
    if (isById) {
      if (apps !== undefined && app === undefined) missing.push(`No ${label} has the ID ${text}`);
    } else if (app !== undefined) fields[member] = { [key]: text };
    else if (checkApp(each).length === 0) brought.push(member);
    else if (apps !== undefined) {
      unregistered.push(describeUnregistered({ label, identifier: text }, apps.map(nameApp)));
    }
  }
  if (problems.length === 0) for (const member of brought) requireRight?.(findRegistration(member));
  const them = unregistered.length > 1 ? "them" : "it";
  const advice = unregistered.length === 0 ? [] : [`register ${them} first, or leave ${them} out`];
  const [first, ...others] = [...missing, ...unregistered];
  const rest = others.map((fault) => `${fault.charAt(0).toLowerCase()}${fault.slice(1)}`);
  return { fields, problems, fault: first && [first, ...rest, ...advice].join("; ") };
}

/**
 * Checks the given fields of an app by the app's own rules. Missing fields are allowed, because the
 * app may be registered already.
 */
function findFaults(each: Choice, takesAnyId: boolean): readonly FieldProblem[] {
  const { member, choice, isById, text } = each;
  const given = new Map(Object.entries(choice));
  const faults = checkApp(each)
    .filter(({ field }) => !isBlank(given.get(field)))
    .map(({ field, message }) => ({ field: `${member}.${field}`, message }));
  if (!isById || takesAnyId || uuidPattern.test(text)) return faults;
  return [...faults, { field: `${member}.id`, message: `The id of ${member} is not a UUID` }];
}

/**
 * The app that a person's text names, or why it names no single app; undefined if it is no name.
 */
function findNamed(
  { member, label, choice, isById, text, apps, app, ...each }: Choice,
  takesAnyId: boolean,
): { readonly id: string } | { readonly message: string } | undefined {
  const isSettled = app !== undefined || isBlank(text) || (isById && uuidPattern.test(text));
  if (apps === undefined || isSettled || bringsNewApp(choice)) return undefined;
  const found = pickNamedApps(apps, text);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return { id: only.id };
  if (only !== undefined) {
    const all = found.map((one) => writeNamedApp(nameApp(one))).toSorted();
    return { message: `More than one ${label} is named ${quote(text)}: ${all.join(", ")}` };
  }
  const faults = checkApp({ member, choice });
  // The identifier of an app that isn't registered is reported with the link that needs it.
  if (isById ? takesAnyId : !faults.some(({ field }) => field === each.key)) return undefined;
  const registered = apps.map(nameApp);
  const missing = { label, identifier: text, needs: makerFacts[member] };
  const advice = adviseUnregistered(missing, registered);
  return { message: `${describeUnregistered(missing, registered)}; ${advice}` };
}

function nameApp(app: App): NamedApp {
  return { name: app.name, identifier: readIdentifier(app) };
}

/**
 * The link's app after the write, by the field that shows it; a text in place of the id of a new
 * app.
 */
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
 * Reports a row that describes a new app differently than an earlier row of its plan: the first one
 * applied would register it, and a person is shown each app once.
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
