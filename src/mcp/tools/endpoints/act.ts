import * as z from "zod";
import { findRegistration } from "../../../contract/apps.ts";
import { pickLasting, type WriteCondition } from "../../../contract/condition.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { normalizeId } from "../../../contract/fields.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import { unapprovedMove_ms } from "../../../contract/limits.ts";
import type { ReadLink } from "../../../contract/links.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import {
  listReasons,
  type ApprovalReason,
  type PlannedWrite,
} from "../../../contract/rules/approval-rules.ts";
import { movesPath } from "../../../contract/rules/changed-destination.ts";
import { isBlank } from "../../../contract/text.ts";
import { requireAct, requireRight } from "../../access/key-access.ts";
import { appFields } from "../../results/present-body.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import { settleApps, type NewApp } from "../apps.ts";
import { findRecord, findTarget } from "../targets.ts";
import type { ToolCall } from "../tool.ts";

/** Reads what a write would change, before it is sent. */

/** A write, with everything that is known about it before it is sent. */
export type Act = PlannedWrite & {
  readonly kind: ResourceKind;
  /** The id of the target, if it exists and is known. */
  readonly id: string | undefined;
  readonly registered: readonly NewApp[];
  readonly chosenApps: readonly unknown[];
  /** The kinds of apps whose given ID does not exist. */
  readonly missing: readonly ResourceKind[];
  /** The links that a deletion affects. */
  readonly affected?: AffectedLinks | undefined;
  /** Why the call needs approval; empty if it needs none. */
  readonly reasons: readonly ApprovalReason[];
};

/** A call with names replaced by ids. The target has not been read yet. */
export type ResolvedCall = Pick<
  Act,
  "endpoint" | "kind" | "input" | "registered" | "chosenApps" | "missing"
>;

const { links } = contract;

/**
 * Resolves the target and the apps in the arguments, and checks the permission to register apps.
 */
export async function resolveCall(
  endpoint: Endpoint,
  given: JsonObject,
  call: Pick<ToolCall, "callApi" | "keyContext" | "apps">,
): Promise<ResolvedCall> {
  const kind = findKind(endpoint);
  const id = endpoint.params && (await findTarget(kind, String(given["id"]), call));
  const named = id === undefined ? given : { ...given, id };
  const { input, registered, chosen, missing } =
    endpoint.body === links.create.body
      ? await settleApps(named, call)
      : { input: named, registered: listOwn(endpoint, named), chosen: [], missing: [] };
  for (const app of registered) {
    // Checked early, so that a call that the operator or the server would reject is never shown for
    // approval.
    const registration = findRegistration(app.kind.name);
    requireAct(registration, call.keyContext);
    requireRight({ tool: endpoint.tool, endpoint: registration }, call.keyContext);
  }
  return { endpoint, kind, input, registered, chosenApps: chosen.map(pickLasting), missing };
}

/** Reads the current target, and decides whether the call needs approval. */
export async function readAct(
  resolved: ResolvedCall,
  call: Pick<ToolCall, "callApi" | "keyContext">,
): Promise<Act> {
  const { endpoint, kind, input } = resolved;
  const target = await readTarget(endpoint, input, call);
  const { before } = target;
  const isFresh =
    endpoint === links.update && before ? await isFreshMove(before, input, call) : undefined;
  const isEnd = endpoint.method === "DELETE" && before;
  const affected = isEnd ? await readAffected(kind, before, call) : undefined;
  return completeAct({ ...resolved, ...target, isFresh, affected });
}

export function completeAct(known: Omit<Act, "changes" | "reasons">): Act {
  const act = { ...known, changes: findChanges(known) };
  return { ...act, reasons: listReasons(act) };
}

/**
 * If the key may not read the target, returns no record instead of failing. The key may still be
 * allowed to change the target.
 */
async function readTarget(
  endpoint: Endpoint,
  input: JsonObject,
  call: Pick<ToolCall, "callApi">,
): Promise<Pick<Act, "id" | "before">> {
  if (endpoint === links.upsert) {
    const before = await findRecord(findKind(links.show), String(input["path"]), call);
    return { id: before ? String(before["id"]) : undefined, before };
  }
  if (endpoint.params === undefined) return { id: undefined, before: null };
  const { show } = findKind(endpoint);
  const id = String(input["id"]);
  const body: unknown = await readIfAllowed(() => call.callApi(show, { id }));
  return { id, before: body as JsonObject | undefined };
}

const registrations = new Set<Endpoint>([contract.iosApps.create, contract.androidApps.create]);

function listOwn(endpoint: Endpoint, fields: JsonObject): readonly NewApp[] {
  return registrations.has(endpoint) ? [{ kind: findKind(endpoint), fields }] : [];
}

/** Returns the precondition of the write: the target must be unchanged since Waypost read it. */
export function describeCondition({ endpoint, before }: Act): WriteCondition | undefined {
  if (before) return { shown: before };
  return before === null && endpoint === links.upsert ? "absent" : undefined;
}

/**
 * Returns the state that the user approves, as far as the key can read it. The approval becomes
 * invalid if this state changes, such as when a deletion would affect more links.
 */
export function describeState(act: Act): unknown {
  const { before, input, registered, chosenApps, affected, reasons } = act;
  const apps = registered.length === 0 ? null : input;
  const target = before ? pickLasting(before) : before === null ? "absent" : "unread";
  return { target, apps, chosenApps, affected: affected?.count, reasons };
}

function findChanges({ endpoint, input, before }: Omit<Act, "changes" | "reasons">): JsonObject {
  const { body, response } = endpoint;
  // If a record lacks one of these fields, the field's value is unknown, not empty.
  const shown = response instanceof z.ZodObject ? response.shape : {};
  const changed = Object.keys(body?.shape ?? {}).filter((field) => {
    const value = input[field];
    if (value === undefined) return false;
    if (!before) return true;
    if (appFields.some((app) => app === field)) return choosesOther(value, before[`${field}_id`]);
    const isUnknown = before[field] === undefined && field in shown;
    if (isBlank(value) && isBlank(before[field]) && !isUnknown) return false;
    return JSON.stringify(value) !== JSON.stringify(before[field]);
  });
  return Object.fromEntries(changed.map((field) => [field, input[field]]));
}

/** Whether the choice differs from the link's current app. A new app always does. */
function choosesOther(choice: unknown, current: unknown): boolean {
  const { id, ...described } = isJsonObject(choice) ? choice : {};
  const isNew = isBlank(id) && !Object.values(described).every(isBlank);
  return current === undefined || isNew || foldId(id) !== foldId(current);
}

function foldId(id: unknown): string {
  return typeof id === "string" ? normalizeId(id) : "";
}

/**
 * Whether the link was created moments ago and has no clicks, so that visitors are unlikely to know
 * its path. Filters by age, because the API returns no creation times.
 */
export async function isFreshMove(
  before: JsonObject,
  input: JsonObject,
  { callApi, keyContext }: Pick<ToolCall, "callApi" | "keyContext">,
): Promise<boolean> {
  const { id, path, clicks } = before;
  // On a remote server, the age is unknown, because the server may ignore the filter and its clock
  // may differ.
  if (!keyContext.checksConditions || clicks !== 0) return false;
  if (!movesPath(before, input) || typeof path !== "string") return false;
  const value = new Date(keyContext.clock.now() - unapprovedMove_ms).toISOString();
  const filters: readonly FilterInput[] = [
    { field: "path", condition: "eq", value: path },
    { field: "created_at", condition: "gteq", value },
  ];
  const page = await readIfAllowed(() => callApi(links.index, { filters }));
  return page?.links.some((link) => link.id === id) === true;
}

/** The links that open an app: their count, and the most clicked ones. */
export type AffectedLinks = {
  /** Undefined if the server does not return a count. */
  readonly count?: number;
  readonly best: readonly ReadLink[];
};

/** The filter that finds the links of an app, by kind of app. */
export const appFilters: Readonly<Record<string, string>> = {
  ios_app: "ios_app_bundle_id",
  android_app: "android_app_package_name",
};
const mostListed = 3;

/**
 * Reads the links that depend on a record. Returns undefined if no links can depend on it, or if
 * the key lacks permission to list links.
 */
export async function readAffected(
  kind: ResourceKind,
  record: JsonObject,
  { callApi }: Pick<ToolCall, "callApi">,
): Promise<AffectedLinks | undefined> {
  const field = appFilters[kind.name];
  const value = record[kind.key ?? ""];
  if (field === undefined || typeof value !== "string") return undefined;
  const filters = [{ field, condition: "eq", value } as const];
  const sort = { field: "clicks", direction: "desc" } as const;
  const page = await readIfAllowed(() =>
    callApi(links.index, { filters, sort, limit: mostListed }),
  );
  const { count } = page?.meta ?? {};
  return page && { ...(typeof count === "number" && { count }), best: page.links };
}
