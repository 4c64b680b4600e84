import { readId } from "../contract/fields.ts";
import type { Link, LinkFields } from "../contract/links.ts";
import { messages } from "../contract/messages.ts";
import {
  takenFault,
  unauthorized,
  validationFailed,
  type FieldProblem,
} from "../contract/problem.ts";
import { checkDestinations, restoreDestinations } from "../contract/rules/destinations.ts";
import { checkLink, findProFields, type LinkValues } from "../contract/rules/link-rules.ts";
import { isBlank, isStorable } from "../contract/text.ts";
import { claimAddress, insertLink, updateLink } from "../store/links.ts";
import { readTally } from "../store/projects.ts";
import type { Tenant } from "../store/tables.ts";
import { androidAppKind, iosAppKind, type AppKind } from "./app-kinds.ts";
import type { WriteCall } from "./handler.ts";
import { createCode, createIdAndTime } from "./ids.ts";
import { requireScope } from "./require-access.ts";

/**
 * How a link comes to be and changes, for every endpoint that writes links. All of it runs in the
 * caller's transaction, so a write that fails leaves nothing behind: no app, no address.
 */

export const codeLength = 8;
const triesPerLength = 5;

type CreateOptions = {
  /** Makes a shortened path that begins with this text. */
  readonly shortenedPrefix?: string;
  /** Where the sentence of a 422 stands. */
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
  // All members from the start: an object that grows out of a small one costs as much as a row.
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

/** How a link comes by what it needs: for good where it is written, and not for a draft. */
type Settling = {
  readonly write: "create" | "update";
  readonly before?: Link | undefined;
  /** Whether the link may have this path. */
  readonly claim: (path: string) => Promise<boolean>;
  /** Whether an app that is not there yet comes to be. */
  readonly registers: boolean;
  readonly problemKey?: CreateOptions["problemKey"];
};

export type SettledLink = Partial<LinkValues & AppIds>;

/** What becomes of the fields that were sent, by all rules of a link; every problem at once. */
export async function settleLink(
  tenant: Tenant,
  call: WriteCall,
  fields: LinkFields,
  { write, before, claim, registers, problemKey }: Settling,
): Promise<SettledLink> {
  requireProFields(call, findProFields(fields, write));
  const { values, problems } = checkLink(fields, write);
  const apps = await chooseApps(tenant, call, fields, registers);
  const { path } = values;
  const isMoved = path !== undefined && path !== before?.path;
  const pathProblems = isMoved && !(await claim(path)) ? [takenFault("path")] : [];
  const foreign = listForeign(call, values, problems, before);
  requireNoProblems([...problems, ...foreign, ...pathProblems, ...apps.problems], problemKey);
  return { ...values, ...apps.ids };
}

/** Takes a generated address: drawn, inserted, and drawn again where it was taken. */
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

/** Addresses that lead to none of the project's hosts; one with another fault is told of once. */
function listForeign(
  { caller }: WriteCall,
  values: Partial<LinkValues>,
  problems: readonly FieldProblem[],
  before?: Link,
): readonly FieldProblem[] {
  const destinations = restoreDestinations(caller.project.destinations);
  const isTold = (field: string) => problems.some((problem) => problem.field === field);
  return checkDestinations(values, destinations, before).filter(({ field }) => !isTold(field));
}

/** api-spec.md, "Errors": going beyond the free tier's link limit is a 401. */
export async function requireFreeLink(
  tenant: Tenant,
  { plan, max_links }: Pick<WriteCall["caller"]["project"], "plan" | "max_links">,
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

/** The apps that a link names: found, created on the fly, detached by null, or left alone. */
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

type Choosing = {
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
  { tenant, call, registers, problems }: Choosing,
  kind: AppKind<{ readonly id: string }, Fields, Values, Identifier>,
  fields: Fields,
): Promise<string | null> {
  const identifier = fields[kind.identifier];
  // Neither of the two detaches; both at once is a problem that the link's own rules name.
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
