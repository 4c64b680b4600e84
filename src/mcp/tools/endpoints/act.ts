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
import { movesPath } from "../../../contract/rules/moved-link.ts";
import { isBlank } from "../../../contract/text.ts";
import { requireAct, requireRight } from "../../access/key-access.ts";
import { appFields } from "../../results/present-body.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import { settleApps, type NewApp } from "../apps.ts";
import { findRecord, findTarget } from "../targets.ts";
import type { ToolCall } from "../tool.ts";

/** A call of a writing tool, with everything that is known before it is carried out. */
export type Act = PlannedWrite & {
  readonly kind: ResourceKind;
  /** The id of the target, if it exists and is known. */
  readonly id: string | undefined;
  readonly registered: readonly NewApp[];
  /** The current records of the apps that the fields choose. */
  readonly beside: readonly unknown[];
  /** The kinds whose app is chosen by an id that does not exist. */
  readonly missing: readonly ResourceKind[];
  /** The links that a deletion would affect. */
  readonly touched?: TouchedLinks | undefined;
  /** Why a person has to approve it; empty if no approval is needed. */
  readonly reasons: readonly ApprovalReason[];
};

/** A call whose names are replaced by ids. The target itself may change until it is read. */
export type ResolvedCall = Pick<
  Act,
  "endpoint" | "kind" | "input" | "registered" | "beside" | "missing"
>;

const { links } = contract;

/** Finds the target and the apps that the arguments name, and checks the right to register them. */
export async function resolveCall(
  endpoint: Endpoint,
  given: JsonObject,
  call: Pick<ToolCall, "ask" | "keyContext" | "apps">,
): Promise<ResolvedCall> {
  const kind = findKind(endpoint);
  const id = endpoint.params && (await findTarget(kind, String(given["id"]), call));
  const named = id === undefined ? given : { ...given, id };
  const { input, registered, chosen, missing } =
    endpoint.body === links.create.body
      ? await settleApps(named, call)
      : { input: named, registered: listOwn(endpoint, kind, named), chosen: [], missing: [] };
  for (const app of registered) {
    // A person is not asked about anything that the operator or the server certainly rejects.
    const registration = findRegistration(app.kind.name);
    requireAct(registration, call.keyContext);
    requireRight({ tool: endpoint.tool, endpoint: registration }, call.keyContext);
  }
  return { endpoint, kind, input, registered, beside: chosen.map(pickLasting), missing };
}

/** Reads the target as it is now, and decides whether the call needs approval. */
export async function readAct(
  resolved: ResolvedCall,
  call: Pick<ToolCall, "ask" | "keyContext">,
): Promise<Act> {
  const { endpoint, kind, input } = resolved;
  const target = await readTarget(endpoint, input, call);
  const { before } = target;
  const isFresh =
    endpoint === links.update && before ? await isFreshMove(before, input, call) : undefined;
  const isEnd = endpoint.method === "DELETE" && before;
  const touched = isEnd ? await readTouched(kind, before, call) : undefined;
  return completeAct({ ...resolved, ...target, isFresh, touched });
}

/** Adds what follows from the input and the current target. */
export function completeAct(known: Omit<Act, "changes" | "reasons">): Act {
  const act = { ...known, changes: findChanges(known) };
  return { ...act, reasons: listReasons(act) };
}

/** Reads the current target. A key that may not read it may still change it. */
async function readTarget(
  endpoint: Endpoint,
  input: JsonObject,
  call: Pick<ToolCall, "ask">,
): Promise<Pick<Act, "id" | "before">> {
  if (endpoint === links.upsert) {
    const before = await findRecord(findKind(links.show), String(input["path"]), call);
    return { id: before ? String(before["id"]) : undefined, before };
  }
  if (endpoint.params === undefined) return { id: undefined, before: null };
  const { show } = findKind(endpoint);
  const id = String(input["id"]);
  const body: unknown = await readIfAllowed(() => call.ask(show, { id }));
  // The response is an object that was read with the endpoint's schema.
  return { id, before: body as JsonObject | undefined };
}

function listOwn(endpoint: Endpoint, kind: ResourceKind, fields: JsonObject): readonly NewApp[] {
  return endpoint === findRegistration(kind.name) ? [{ kind, fields }] : [];
}

/** The condition that the target must meet when the request is carried out. */
export function describeCondition({ endpoint, before }: Act): WriteCondition | undefined {
  if (before) return { shown: before };
  return before === null && endpoint === links.upsert ? "absent" : undefined;
}

/**
 * The state that an approval is valid for, as far as the key may read it. For example, an approval
 * for some links is not valid for more links.
 */
export function describeState(act: Act): unknown {
  const { before, input, registered, beside, touched, reasons } = act;
  const apps = registered.length === 0 ? null : input;
  const target = before ? pickLasting(before) : before === null ? "absent" : "unread";
  return { target, apps, beside, touched: touched?.count, reasons };
}

function findChanges({ endpoint, input, before }: Omit<Act, "changes" | "reasons">): JsonObject {
  const { body, response } = endpoint;
  // A field that this record lacks is unknown, and not empty.
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

/**
 * Whether a choice changes the link's app. Records contain only the app's id, which an unregistered
 * app does not have.
 */
function choosesOther(choice: unknown, current: unknown): boolean {
  const { id, ...described } = isJsonObject(choice) ? choice : {};
  const isNew = isBlank(id) && !Object.values(described).every(isBlank);
  return current === undefined || isNew || foldId(id) !== foldId(current);
}

function foldId(id: unknown): string {
  return typeof id === "string" ? normalizeId(id) : "";
}

/**
 * Whether the moved link is so new that no visitor can know its path: it has no clicks and was
 * created moments ago. The API shows no times, so a filter on the creation time must find the link.
 */
export async function isFreshMove(
  before: JsonObject,
  input: JsonObject,
  { ask, keyContext }: Pick<ToolCall, "ask" | "keyContext">,
): Promise<boolean> {
  const { id, path, clicks } = before;
  // A remote server may ignore the filter and its clock may differ, so the age is unknown.
  if (!keyContext.checksConditions || clicks !== 0) return false;
  if (!movesPath(before, input) || typeof path !== "string") return false;
  const value = new Date(keyContext.clock.now() - unapprovedMove_ms).toISOString();
  const filters: readonly FilterInput[] = [
    { field: "path", condition: "eq", value: path },
    { field: "created_at", condition: "gteq", value },
  ];
  const page = await readIfAllowed(() => ask(links.index, { filters }));
  return page?.links.some((link) => link.id === id) === true;
}

/** The links that open an app: their number, and the most clicked ones. */
export type TouchedLinks = {
  /** Omitted if the server does not count them. */
  readonly count?: number;
  readonly best: readonly ReadLink[];
};

/** The filters that find an app's links, by the app's kind. */
export const appFilters: Readonly<Record<string, string>> = {
  ios_app: "ios_app_bundle_id",
  android_app: "android_app_package_name",
};
const mostBest = 3;

/**
 * The affected links; undefined if no links depend on the target, or if the key may not list them.
 */
export async function readTouched(
  kind: ResourceKind,
  record: JsonObject,
  { ask }: Pick<ToolCall, "ask">,
): Promise<TouchedLinks | undefined> {
  const field = appFilters[kind.name];
  const value = record[kind.key ?? ""];
  if (field === undefined || typeof value !== "string") return undefined;
  const filters = [{ field, condition: "eq", value } as const];
  const sort = { field: "clicks", direction: "desc" } as const;
  const page = await readIfAllowed(() => ask(links.index, { filters, sort, limit: mostBest }));
  const { count } = page?.meta ?? {};
  return page && { ...(typeof count === "number" && { count }), best: page.links };
}
