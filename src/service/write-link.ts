import { readId } from "../contract/fields.ts";
import type { Link, LinkFields } from "../contract/links.ts";
import { messages } from "../contract/messages.ts";
import {
  makeTakenProblem,
  unauthorized,
  validationFailed,
  type FieldProblem,
} from "../contract/problem.ts";
import { checkDestinations, restoreDestinations } from "../contract/rules/destinations.ts";
import { checkLink, findProFields, type LinkValues } from "../contract/rules/link-rules.ts";
import { isBlank, isStorable } from "../contract/text.ts";
import type { AppStore } from "../store/apps.ts";
import { findInBin, type Restored } from "../store/bin.ts";
import {
  claimAddress,
  insertLink,
  updateLink,
  restoreLink,
  type DeletedLink,
} from "../store/links.ts";
import { readTally, type ProjectSettings } from "../store/projects.ts";
import type { Tenant } from "../store/tables.ts";
import { androidAppKind, iosAppKind, type AppKindRules } from "./app-kinds.ts";
import type { WriteCall } from "./handler.ts";
import { createCode, createIdAndTime } from "./ids.ts";
import { requireScope } from "./keys.ts";

/**
 * Creates, changes and restores links. All writes happen in the caller's transaction, so a failed
 * call leaves no app and no path behind.
 */

export const codeLength = 8;
const triesPerLength = 5;

type CreateOptions = {
  /** The prefix of the generated short path. If omitted, no short path is generated. */
  readonly shortenedPrefix?: string;
  /** The JSON key of the message in a 422 response. */
  readonly problemKey?: "errors";
};

export async function createLink(
  tenant: Tenant,
  call: WriteCall,
  fields: LinkFields,
  options: CreateOptions = {},
): Promise<Link> {
  await requireFreeLink(tenant, call.caller.project);
  const { id, now } = createIdAndTime(call.services);
  const settled = await settleLink(tenant, call, fields, {
    write: "create",
    claim: (path) => claimAddress(tenant, path, id),
    registers: true,
    problemKey: options.problemKey,
  });
  const { path = "" } = settled;

  const prefix = fields.options?.shorten === true ? "" : options.shortenedPrefix;
  // Set all properties at once, because adding them one by one would be much slower.
  return insertLink(tenant, {
    ...blankLink,
    created_via: call.via ?? blankLink.created_via,
    ...settled,
    id,
    now,
    path: path === "" ? await claimGeneratedPath(tenant, call, id, "") : path,
    shortened_path:
      prefix === undefined ? null : await claimGeneratedPath(tenant, call, id, prefix),
  });
}

export async function changeLink(
  tenant: Tenant,
  call: WriteCall,
  before: Link,
  fields: LinkFields,
): Promise<Link> {
  const settled = await settleLink(tenant, call, fields, {
    write: "update",
    before,
    claim: (path) => claimAddress(tenant, path, before.id),
    registers: true,
  });
  return updateLink(tenant, before, settled, call.services.clock.now());
}

type SettleOptions = {
  readonly write: "create" | "update";
  readonly before?: Link | undefined;
  /** Claims the path. Returns false if it is taken. */
  readonly claim: (path: string) => Promise<boolean>;
  readonly registers: boolean;
  readonly problemKey?: CreateOptions["problemKey"];
};

export type SettledLink = Partial<LinkValues & AppIds>;

/** Checks the fields against all rules, and reports every problem at once. */
export async function settleLink(
  tenant: Tenant,
  call: WriteCall,
  fields: LinkFields,
  { write, before, claim, registers, problemKey }: SettleOptions,
): Promise<SettledLink> {
  requireProFields(call, findProFields(fields, write));
  const { values, problems } = checkLink(fields, write);
  const apps = await chooseApps(tenant, call, fields, registers);
  const { path } = values;
  const isMoved = path !== undefined && path !== before?.path;
  const pathProblems = isMoved && !(await claim(path)) ? [makeTakenProblem("path")] : [];
  const foreign = listForeign(call, values, problems, before);
  requireNoProblems([...problems, ...foreign, ...pathProblems, ...apps.problems], problemKey);
  return { ...values, ...apps.ids };
}

/** Claims a random path. Retries if it is taken, with longer paths after several attempts. */
export async function claimGeneratedPath(
  tenant: Tenant,
  { services }: WriteCall,
  linkId: string,
  prefix: string,
): Promise<string> {
  for (let length = codeLength; ; length += 1) {
    for (let attempt = 0; attempt < triesPerLength; attempt += 1) {
      const address = prefix + createCode(length, services.random);
      if (await claimAddress(tenant, address, linkId)) return address;
    }
  }
}

export const blankLink = {
  created_via: "api",
  id: "",
  now: 0,
  path: "",
  shortened_path: null,
  name: null,
  url: null,
  social_title: null,
  social_description: null,
  social_image_url: null,
  ios_fallback_url: null,
  android_fallback_url: null,
  enable_forced_redirect: false,
  referrer: null,
  ios_deferred_deep_linking_enabled: false,
  provider_token: null,
  campaign_token: null,
  ios_app_id: null,
  android_app_id: null,
} as const;

function requireNoProblems(problems: readonly FieldProblem[], key?: "errors"): void {
  if (problems.length > 0) throw validationFailed(problems, key);
}

/** Lists fields with URLs on forbidden hosts, except fields that already have a problem. */
function listForeign(
  { caller }: WriteCall,
  values: Partial<LinkValues>,
  problems: readonly FieldProblem[],
  before?: Link,
): readonly FieldProblem[] {
  const destinations = restoreDestinations(caller.project.destinations);
  const isReported = (field: string) => problems.some((problem) => problem.field === field);
  return checkDestinations(values, destinations, before).filter(({ field }) => !isReported(field));
}

/** Throws a 401 if the project is on the Free plan and has the maximum number of links. */
export async function requireFreeLink(
  tenant: Tenant,
  { plan, max_links }: ProjectLimits,
): Promise<void> {
  if (plan === "pro") return;
  const { links } = await readTally(tenant);
  if (links >= max_links) throw unauthorized(messages.link_limit(max_links));
}

function requireProFields({ caller }: WriteCall, asked: readonly string[]): void {
  if (asked.length === 0 || caller.project.plan === "pro") return;
  throw unauthorized(messages.pro_fields(asked.join(", ")));
}

type AppIds = { ios_app_id: string | null; android_app_id: string | null };

/** Finds or registers the link's apps. A returned id of null detaches the app. */
async function chooseApps(
  tenant: Tenant,
  call: WriteCall,
  { ios_app, android_app }: LinkFields,
  registers: boolean,
) {
  const ids: Partial<AppIds> = {};
  const problems: FieldProblem[] = [];
  const choosing = { tenant, call, registers, problems };
  if (ios_app !== undefined) {
    ids.ios_app_id = await chooseApp(choosing, iosAppKind, ios_app ?? {});
  }
  if (android_app !== undefined) {
    ids.android_app_id = await chooseApp(choosing, androidAppKind, android_app ?? {});
  }
  return { ids, problems };
}

type AppSelection = {
  readonly tenant: Tenant;
  readonly call: WriteCall;
  readonly registers: boolean;
  readonly problems: FieldProblem[];
};

async function chooseApp<
  Fields extends { readonly [Name in Identifier | "id"]?: string | null | undefined },
  Values,
  Identifier extends string,
>(
  { tenant, call, registers, problems }: AppSelection,
  kind: AppKindRules<{ readonly id: string }, Fields, Values, Identifier>,
  fields: Fields,
): Promise<string | null> {
  const identifier = fields[kind.identifier];
  // If neither an id nor an identifier is sent, the app is detached. If both are sent, the link's
  // rules report a problem.
  if (isBlank(fields.id) === isBlank(identifier)) return null;
  if (isBlank(identifier)) {
    const app = await kind.apps.find(tenant, readId(fields.id ?? ""));
    if (app === undefined) problems.push({ field: kind.name, message: kind.notFound });
    return app?.id ?? null;
  }
  const name = identifier ?? "";
  const known = isStorable(name) ? await kind.apps.findNamed(tenant, name) : undefined;
  if (known !== undefined) return known.id;
  requireScope(call.caller, kind.createScope);
  const checked = kind.check(fields);
  problems.push(...checked.problems);
  if (!registers) problems.push({ field: kind.name, message: kind.notFound });
  else if (checked.problems.length === 0) {
    const { id, now } = createIdAndTime(call.services);
    await kind.apps.insert(tenant, id, checked.values, now);
    const warning = kind.findWarning(fields);
    if (warning !== undefined) call.warn(`${warning}.`);
    return id;
  }
  return null;
}

type ProjectLimits = Pick<ProjectSettings, "plan" | "max_links">;

/**
 * Restores a deleted link. Returns undefined if the link is not in the bin. The link's destinations
 * are not checked, because they were allowed before. Only the assistant's undo checks them.
 */
export async function restoreDeletedLink(
  tenant: Tenant,
  project: ProjectLimits,
  id: string,
  now: number,
): Promise<Link | undefined> {
  const deleted: DeletedLink | undefined = await findInBin(tenant, "link", id, now);
  if (deleted === undefined) return undefined;
  await requireFreeLink(tenant, project);
  return requireRestored(await restoreLink(tenant, deleted, now));
}

export async function restoreDeletedApp<App>(
  tenant: Tenant,
  apps: Pick<AppStore<App, unknown>, "restore">,
  id: string,
  now: number,
) {
  const restored = await apps.restore(tenant, id, now);
  return restored && requireRestored(restored);
}

function requireRestored<Resource>(restored: Restored<Resource>): Resource {
  if ("restored" in restored) return restored.restored;
  throw validationFailed(restored.taken.map(makeTakenProblem));
}
