import {
  appKinds,
  appMembers,
  describeApp,
  findApp,
  findChosen,
  isWhole,
  readChoice,
  readIdentifier,
  type ProjectApp,
  type AppMember,
} from "../../lists/project-apps.ts";
import { findRegistration, makerFacts } from "../../contract/apps.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import type { ResourceKind } from "../../contract/resource-kind.ts";
import { bringsNewApp } from "../../contract/rules/app-rules.ts";
import { fold, isBlank } from "../../contract/text.ts";
import { adviseUnregistered, describeUnregistered } from "../../text/unregistered-app.ts";
import { writeApp } from "../approval/question-text.ts";
import type { KnownApps } from "../results/present-body.ts";
import { ToolFailure } from "../results/tool-failure.ts";
import { mapObjects } from "../schemas/json-schema.ts";
import { findTarget, refuseSeveral } from "./targets.ts";
import type { ToolCall } from "./tool.ts";

/** Looks up the apps selected in a link's fields, and adds app names to results. */

type AppCall = Pick<ToolCall, "callApi" | "keyContext" | "apps">;

export type NewApp = { readonly kind: ResourceKind; readonly fields: JsonObject };

type ChosenApps = {
  readonly registered: NewApp[];
  readonly chosen: JsonObject[];
  /** The kinds of apps whose given ID does not exist. */
  readonly missing: ResourceKind[];
};

/**
 * Replaces each app's identifier in a link's fields with the app's ID. If the app is deleted before
 * the write, an identifier would register it again without approval.
 */
export async function settleApps(
  input: JsonObject,
  call: AppCall,
): Promise<ChosenApps & { readonly input: JsonObject }> {
  const apps: ChosenApps = { registered: [], chosen: [], missing: [] };
  const settled: Record<string, unknown> = { ...input };
  for (const member of appMembers) {
    const choice = input[member];
    if (isJsonObject(choice)) settled[member] = await settleApp(member, choice, apps, call);
  }
  return { input: settled, ...apps };
}

async function settleApp(
  member: AppMember,
  given: JsonObject,
  { registered, chosen, missing }: ChosenApps,
  call: AppCall,
): Promise<JsonObject> {
  const kind = appKinds[member];
  const isById = typeof given["id"] === "string" && !isBlank(given["id"]);
  const choice = isById
    ? { ...given, id: await findTarget(kind, String(given["id"]), call) }
    : given;
  const text = readChoice(choice);
  if (isBlank(text)) return choice;
  const list = await call.apps.list(member);
  const [app, ...others] = findChosen(list?.rows ?? [], choice);
  if (app !== undefined && others.length > 0) throw refuseSeveral(kind, text, [app, ...others]);
  if (app !== undefined) {
    chosen.push(app);
    return isById ? choice : { id: app.id };
  }
  const isUnknown = list !== undefined && isWhole(list);
  if (isUnknown && isById) missing.push(kind);
  else if (isUnknown && !canRegister(member, choice)) {
    throw refuseUnregistered(member, text, list.rows);
  }
  if (bringsNewApp(choice)) registered.push({ kind, fields: choice });
  return choice;
}

/** Whether all fields that a registration requires are present. The API validates their values. */
function canRegister(member: AppMember, fields: JsonObject): boolean {
  const { needed = [] } = findRegistration(member);
  return needed.every((field) => {
    const value = fields[field];
    return !isBlank(Array.isArray(value) ? value.join("") : value);
  });
}

/**
 * The error for an incomplete new app. It makes the assistant ask for the missing fields, because
 * models tend to invent them.
 */
function refuseUnregistered(member: AppMember, identifier: string, apps: readonly ProjectApp[]) {
  const { label, key } = appKinds[member];
  const needs = makerFacts[member];
  const registered = apps.map(describeApp);
  const missing = { label, identifier, needs };
  const message = describeUnregistered(missing, registered);
  const fix = adviseUnregistered(missing, registered);
  return new ToolFailure({
    code: "validation_failed",
    message,
    problems: [{ field: `${member}.${key}`, message, fix }],
    effect: "none",
    retry: "now",
    next: `Ask the user which ${label} they mean, or for the ${needs} of a new one. Do not guess.`,
  });
}

/**
 * Reads the apps of links, to show their names. A remote server's apps are used only if this call
 * has already read them, to save a request.
 */
export async function readAppsOf(
  links: readonly JsonObject[],
  call: AppCall,
  registered: readonly JsonObject[] = [],
): Promise<KnownApps> {
  const apps = [...registered];
  for (const member of appMembers) {
    const isNamed = links.some((link) => typeof link[`${member}_id`] === "string");
    const isCheap = call.keyContext.checksConditions || call.apps.isRead(member);
    if (isNamed && isCheap) apps.push(...(await listForNames(member, call)));
  }
  return new Map(apps.map((app) => [String(app["id"]), app]));
}

/** Returns an empty list if the apps cannot be read, because names are optional. */
async function listForNames(
  member: AppMember,
  { apps }: Pick<ToolCall, "apps">,
): Promise<readonly ProjectApp[]> {
  const list = await apps.list(member).catch(() => undefined);
  return list?.rows ?? [];
}

export async function readAppName(member: AppMember, id: unknown, call: AppCall): Promise<string> {
  if (typeof id !== "string") return "none";
  return nameApp(id, findApp(await listForNames(member, call), id));
}

type AppChange = {
  /** Undefined if the link will use no app, or if the key may not read the app. */
  readonly after: JsonObject | undefined;
  readonly after_id: string | null;
  readonly change: { readonly from?: string; readonly to: string };
};
export type AppChanges = Readonly<Partial<Record<AppMember, AppChange>>>;

export async function readAppChanges(
  record: JsonObject,
  changes: JsonObject,
  call: AppCall,
): Promise<AppChanges> {
  const apps: Partial<Record<AppMember, AppChange>> = {};
  for (const member of appMembers) {
    const isInvolved = typeof record[`${member}_id`] === "string" || Object.hasOwn(changes, member);
    if (!isInvolved) continue;
    apps[member] = describeAppChange(member, record, changes, await listForNames(member, call));
  }
  return apps;
}

function describeAppChange(
  member: AppMember,
  record: JsonObject,
  changes: JsonObject,
  apps: readonly ProjectApp[],
): AppChange {
  const id = record[`${member}_id`];
  const before_id = typeof id === "string" ? id : null;
  const before = before_id === null ? undefined : findApp(apps, before_id);
  const from = before_id === null ? "none" : nameApp(before_id, before);
  if (!Object.hasOwn(changes, member)) {
    return { after: before, after_id: before_id, change: { to: from } };
  }
  const given = changes[member];
  const choice = isJsonObject(given) && !Object.values(given).every(isBlank) ? given : undefined;
  // Only an unregistered app has no ID.
  const after_id = choice && (typeof choice["id"] === "string" ? choice["id"] : "");
  const after = after_id ? findApp(apps, after_id) : choice;
  const to = after_id === undefined ? "none" : nameApp(after_id, after);
  const isKnown = id !== undefined;
  return { after, after_id: after_id ?? null, change: { ...(isKnown && { from }), to } };
}

function nameApp(id: string, app: JsonObject | undefined): string {
  return writeApp(id, [app?.["name"], app?.["bundle_id"] ?? app?.["package_name"]]);
}

/** The members of results that describe changes. */
const changeMembers = ["change", "changes", "rows", "plan"] as const;

export async function nameChangedApps(
  result: JsonObject,
  call: Pick<ToolCall, "apps">,
): Promise<JsonObject> {
  const shown = changeMembers.filter((name) => result[name] !== undefined);
  let named: JsonObject = Object.fromEntries(shown.map((name) => [name, result[name]]));
  const text = JSON.stringify(named);
  for (const member of appMembers) {
    if (!new RegExp(`"${member}(_id)?":{`).test(text)) continue;
    const names = nameEach(await listForNames(member, call));
    named = mapObjects(named, (fields) => nameChange(fields, member, names));
  }
  return { ...result, ...named };
}

/**
 * Maps the IDs and identifiers of apps to names. If two apps share a name, the identifier is added.
 */
function nameEach(apps: readonly ProjectApp[]): ReadonlyMap<string, string> {
  const called = apps.map(({ name }) => fold((name ?? "").trim()));
  const named = apps.flatMap((app) => {
    const name = (app.name ?? "").trim();
    const identifier = (readIdentifier(app) ?? "").trim();
    const isUnique = called.filter((other) => other === fold(name)).length === 1;
    const text = name === "" ? identifier : isUnique ? name : `${name} (${identifier})`;
    return [app.id, identifier].map((by) => [by, text] as const);
  });
  return new Map(named.filter(([by, text]) => by !== "" && text !== ""));
}

function nameChange(
  fields: JsonObject,
  member: AppMember,
  names: ReadonlyMap<string, string>,
): JsonObject {
  const members = Object.entries(fields).map(([field, change]) => {
    const isOfApp = field === member || field === `${member}_id`;
    if (!isOfApp || !isJsonObject(change) || !("from" in change || "to" in change)) {
      return [field, change];
    }
    const sides = Object.entries(change).map(([side, app]) => [side, findName(app, member, names)]);
    const isNamed = sides.every(([, name]) => name !== undefined);
    return isNamed ? [member, Object.fromEntries(sides)] : [field, change];
  });
  return Object.fromEntries(members) as JsonObject;
}

/** Returns null if no app is set, and undefined if the app's name is unknown. */
function findName(
  app: unknown,
  member: AppMember,
  names: ReadonlyMap<string, string>,
): string | null | undefined {
  const { id, [appKinds[member].key ?? ""]: identifier } = isJsonObject(app) ? app : { id: app };
  if (!isBlank(id)) return names.get(String(id).toLowerCase()) ?? names.get(String(id));
  if (isBlank(identifier)) return null;
  // A new app has no known name, so its identifier is shown.
  return names.get(String(identifier)) ?? String(identifier);
}
