import type { AndroidAppFields, IosAppFields } from "../contract/apps.ts";
import { readId } from "../contract/fields.ts";
import type { Link, LinkFields } from "../contract/links.ts";
import { messages } from "../contract/messages.ts";
import {
  takenFault,
  unauthorized,
  validationFailed,
  type FieldProblem,
} from "../contract/problem.ts";
import {
  checkAndroidApp,
  checkIosApp,
  type AndroidAppValues,
  type Checked,
  type IosAppValues,
} from "../contract/rules/app-rules.ts";
import { checkLink, findProFields } from "../contract/rules/link-rules.ts";
import { isBlank, isStorable } from "../contract/text.ts";
import { androidAppStore, iosAppStore, type AppStore } from "../store/apps.ts";
import { claimAddress, insertLink, updateLink } from "../store/links.ts";
import { readTally } from "../store/tallies.ts";
import type { Tenant } from "../store/tenant.ts";
import { requireAppRole } from "./access.ts";
import { stamp, type WriteCall } from "./handler.ts";
import { createCode, createId } from "./ids.ts";

/**
 * How a link comes to be and changes, for every endpoint that writes links. All of it runs in the
 * caller's transaction, so a write that fails leaves nothing behind: no app, no address.
 */

export const codeLength = 8;
const triesPerLength = 5;

type Extras = {
  /** Makes a shortened path that begins with this text. */
  readonly shortenWith?: string;
  /** Where the sentence of a 422 stands. */
  readonly problemKey?: "errors";
};

export async function createLink(
  tenant: Tenant,
  call: WriteCall,
  fields: LinkFields,
  extras: Extras = {},
): Promise<Link> {
  await requireRoom(tenant, call);
  requireProFields(call, findProFields(fields, "create"));
  const { id, now } = stamp(call.services);
  const { values, problems } = checkLink(fields, "create");
  const apps = await chooseApps(tenant, call, fields);
  const path = values.path ?? "";
  const isTaken = path !== "" && !(await claimAddress(tenant, path, id));
  refuse(
    [...problems, ...(isTaken ? [takenFault("path")] : []), ...apps.problems],
    extras.problemKey,
  );

  const wanted = fields.options?.shorten === true ? "" : extras.shortenWith;
  return insertLink(tenant, {
    ...blankLink,
    ...values,
    ...apps.chosen,
    id,
    now,
    path: path === "" ? await claimCode(tenant, call, id, "") : path,
    shortened_path: wanted === undefined ? null : await claimCode(tenant, call, id, wanted),
  });
}

export async function changeLink(
  tenant: Tenant,
  call: WriteCall,
  before: Link,
  fields: LinkFields,
): Promise<Link> {
  requireProFields(call, findProFields(fields, "update"));
  const { values, problems } = checkLink(fields, "update");
  const apps = await chooseApps(tenant, call, fields);
  const { path } = values;
  const isMoved = path !== undefined && path !== before.path;
  const isTaken = isMoved && !(await claimAddress(tenant, path, before.id));
  refuse([...problems, ...(isTaken ? [takenFault("path")] : []), ...apps.problems]);
  const { now } = stamp(call.services);
  return updateLink(tenant, before, { ...values, ...apps.chosen }, now);
}

/** Takes a generated address: drawn, inserted, and drawn again where it was taken. */
export async function claimCode(
  tenant: Tenant,
  { services }: WriteCall,
  linkId: string,
  prefix: string,
): Promise<string> {
  for (let length = codeLength; ; length += 1) {
    for (let turn = 0; turn < triesPerLength; turn += 1) {
      const address = prefix + createCode(length, services.random);
      if (await claimAddress(tenant, address, linkId)) return address;
    }
  }
}

const blankLink = {
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

function refuse(problems: readonly FieldProblem[], key?: "errors"): void {
  if (problems.length > 0) throw validationFailed(problems, key);
}

/** api-spec.md, "Errors": going beyond the free tier's link limit is a 401. */
async function requireRoom(tenant: Tenant, { caller }: WriteCall): Promise<void> {
  const { plan, max_links } = caller.project;
  if (plan === "pro") return;
  const { links } = await readTally(tenant);
  if (links >= max_links) throw unauthorized(messages.link_limit(max_links));
}

function requireProFields({ caller }: WriteCall, asked: readonly string[]): void {
  if (asked.length === 0 || caller.project.plan === "pro") return;
  throw unauthorized(messages.pro_fields(asked.join(", ")));
}

type Chosen = { ios_app_id?: string | null; android_app_id?: string | null };

/** The apps that a link names: found, created on the fly, detached by null, or left alone. */
async function chooseApps(
  tenant: Tenant,
  call: WriteCall,
  { ios_app, android_app }: LinkFields,
): Promise<{ readonly chosen: Chosen; readonly problems: readonly FieldProblem[] }> {
  const chosen: Chosen = {};
  const problems: FieldProblem[] = [];
  if (ios_app !== undefined) {
    const { id, bundle_id, ...fields } = ios_app ?? {};
    const choice = { id, identifier: bundle_id, fields: { ...fields, bundle_id } };
    chosen.ios_app_id = await chooseApp(tenant, call, iosChoices, choice, problems);
  }
  if (android_app !== undefined) {
    const { id, package_name, ...fields } = android_app ?? {};
    const choice = { id, identifier: package_name, fields: { ...fields, package_name } };
    chosen.android_app_id = await chooseApp(tenant, call, androidChoices, choice, problems);
  }
  return { chosen, problems };
}

type Choices<Fields, Values> = {
  readonly field: string;
  readonly notFound: string;
  readonly apps: AppStore<{ readonly id: string }, Values>;
  readonly check: (fields: Fields) => Checked<Values>;
};

const iosChoices: Choices<IosAppFields, IosAppValues> = {
  field: "ios_app",
  notFound: messages.ios_app_not_found,
  apps: iosAppStore,
  check: checkIosApp,
};

const androidChoices: Choices<AndroidAppFields, AndroidAppValues> = {
  field: "android_app",
  notFound: messages.android_app_not_found,
  apps: androidAppStore,
  check: checkAndroidApp,
};

type Choice<Fields> = {
  readonly id: string | null | undefined;
  readonly identifier: string | null | undefined;
  readonly fields: Fields;
};

async function chooseApp<Fields, Values>(
  tenant: Tenant,
  call: WriteCall,
  { field, notFound, apps, check }: Choices<Fields, Values>,
  { id, identifier, fields }: Choice<Fields>,
  problems: FieldProblem[],
): Promise<string | null> {
  // Neither of the two detaches; both at once is a problem that the link's own rules name.
  if (isBlank(id) === isBlank(identifier)) return null;
  if (isBlank(identifier)) {
    const app = await apps.find(tenant, readId(id ?? ""));
    if (app === undefined) problems.push({ field, message: notFound });
    return app?.id ?? null;
  }
  const name = identifier ?? "";
  const known = isStorable(name) ? await apps.findNamed(tenant, name) : undefined;
  if (known !== undefined) return known.id;
  requireAppRole(call.caller, "manager");
  const checked = check(fields);
  problems.push(...checked.problems);
  if (checked.problems.length > 0) return null;
  const { clock, random } = call.services;
  const app = await apps.insert(tenant, createId(clock, random), checked.values, clock.now());
  return app.id;
}
