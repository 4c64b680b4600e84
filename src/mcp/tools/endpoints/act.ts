import * as z from "zod";
import { unaskedMove_ms, type ApprovalReason } from "../../../contract/approval-rules.ts";
import { findRegistration } from "../../../contract/apps.ts";
import { pickLasting, type WriteCondition } from "../../../contract/condition.ts";
import type { Endpoint } from "../../../contract/endpoint.ts";
import { normalizeId } from "../../../contract/fields.ts";
import type { FilterInput } from "../../../contract/filters.ts";
import { contract } from "../../../contract/index.ts";
import { isJsonObject, type JsonObject } from "../../../contract/json.ts";
import type { LinkFields, ReadLink } from "../../../contract/links.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { movesDestination, movesPath } from "../../../contract/rules/moved-link.ts";
import { isBlank } from "../../../contract/text.ts";
import { requireAct, requireRight } from "../../access/refuse-denied.ts";
import { appFields } from "../../results/present-body.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import { settleApps, type NewApp } from "../apps.ts";
import { findRecord, findTarget, type Reading } from "../targets.ts";
import type { Call } from "../tool.ts";

/** One call of a tool that writes, with everything that is known before it happens. */
export type Act = {
  readonly endpoint: Endpoint;
  readonly kind: ResourceKind;
  /** What is sent. */
  readonly input: JsonObject;
  /** The id of its target, where that exists and is known. */
  readonly id: string | undefined;
  /** The target: null for what will be created, undefined for what the key may not read. */
  readonly before: Reading;
  /** Whether no visitor can know the target's path yet. */
  readonly isFresh?: boolean | undefined;
  /** What it would change of its target, as far as that can be known. */
  readonly changes: JsonObject;
  /** Apps that it would register. */
  readonly registered: readonly NewApp[];
  /** The apps that it chooses, as they are now. */
  readonly beside: readonly unknown[];
  /** Kinds whose app it chooses by an id that no app has. */
  readonly missing: readonly ResourceKind[];
  /** The links that a deletion would touch. */
  readonly touched?: TouchedLinks | undefined;
  /** Why a person has to approve it; empty if no approval is needed. */
  readonly reasons: readonly ApprovalReason[];
};

type ActCall = Pick<Call, "ask" | "keyContext" | "apps">;

const { links } = contract;

export async function prepareAct(
  endpoint: Endpoint,
  given: JsonObject,
  call: ActCall,
): Promise<Act> {
  const kind = findKind(endpoint);
  const id = endpoint.params && (await findTarget(kind, String(given["id"]), call));
  const named = id === undefined ? given : { ...given, id };
  const { input, registered, chosen, missing } =
    endpoint.body === links.create.body
      ? await settleApps(named, call)
      : { input: named, registered: listOwn(endpoint, kind, named), chosen: [], missing: [] };
  for (const app of registered) {
    // No person is asked about what the operator or the server is known to refuse.
    const registration = findRegistration(app.kind.name);
    requireAct(registration, call.keyContext);
    requireRight({ tool: endpoint.tool, endpoint: registration }, call.keyContext);
  }
  const target = await readTarget(endpoint, input, call);
  const { before } = target;
  const isFresh =
    endpoint === links.update && before ? await isFreshMove(before, input, call) : undefined;
  const isEnd = endpoint.method === "DELETE" && before;
  const touched = isEnd ? await readTouched(kind, before, call) : undefined;
  const beside = chosen.map(pickLasting);
  const known = { ...target, isFresh, registered, beside, missing, touched };
  return completeAct({ endpoint, kind, input, ...known });
}

/** What follows from what is sent and from what exists. */
export function completeAct(known: Omit<Act, "changes" | "reasons">): Act {
  const act = { ...known, changes: findChanges(known) };
  return { ...act, reasons: listReasons(act) };
}

/** The target as it is now. A key that may not read it may still change it. */
async function readTarget(
  endpoint: Endpoint,
  input: JsonObject,
  call: Pick<Call, "ask">,
): Promise<Pick<Act, "id" | "before">> {
  if (endpoint === links.upsert) {
    const before = await findRecord(findKind(links.show), String(input["path"]), call);
    return { id: before ? String(before["id"]) : undefined, before };
  }
  if (endpoint.params === undefined) return { id: undefined, before: null };
  const { show } = findKind(endpoint);
  const id = String(input["id"]);
  const body: unknown = await readIfAllowed(() => call.ask(show, { id }));
  // A read's response is an object, parsed by the entry's schema.
  return { id, before: body as JsonObject | undefined };
}

function listOwn(endpoint: Endpoint, kind: ResourceKind, fields: JsonObject): readonly NewApp[] {
  return endpoint === findRegistration(kind.name) ? [{ kind, fields }] : [];
}

/** What must still hold of the target when the act happens. */
export function describeCondition({ endpoint, before }: Act): WriteCondition | undefined {
  if (before) return { shown: before };
  return before === null && endpoint === links.upsert ? "absent" : undefined;
}

/**
 * What an approval is bound to, as far as the key may read it: an approval that was given for some
 * links does not count for more of them.
 */
export function describeState(act: Act): unknown {
  const { before, input, registered, beside, touched, reasons } = act;
  const apps = registered.length === 0 ? null : input;
  const target = before ? pickLasting(before) : before === null ? "absent" : "unread";
  return { target, apps, beside, touched: touched?.count, reasons };
}

function findChanges({ endpoint, input, before }: Omit<Act, "changes" | "reasons">): JsonObject {
  const { body, response } = endpoint;
  // A field that the API shows, and this record does not, is unknown and not empty.
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

/** A record names a link's app only by its id, which an unregistered app lacks. */
function choosesOther(choice: unknown, current: unknown): boolean {
  const { id, ...described } = isJsonObject(choice) ? choice : {};
  const isNew = isBlank(id) && !Object.values(described).every(isBlank);
  return current === undefined || isNew || foldId(id) !== foldId(current);
}

function foldId(id: unknown): string {
  return typeof id === "string" ? normalizeId(id) : "";
}

function listReasons(act: Omit<Act, "reasons">): readonly ApprovalReason[] {
  const { endpoint, kind, input, before, isFresh, changes, registered } = act;
  if (endpoint.effect === "destroy") return ["destroys"];
  const reasons: ApprovalReason[] = registered.length > 0 ? ["registers_app"] : [];
  if (endpoint.approval_fields?.some((field) => Object.hasOwn(changes, field))) {
    reasons.push(kind.name === "project" ? "changes_domain" : "changes_app");
  }
  if (before === null || endpoint.body !== links.create.body) return reasons;
  // The arguments were checked by the schema of this body.
  const fields = input as LinkFields;
  if (movesDestination(before, fields)) reasons.push("moves_destination");
  if (endpoint === links.update && movesPath(before, fields) && isFresh !== true) {
    reasons.push("moves_path");
  }
  return reasons;
}

/**
 * Whether a change moves a link whose path no visitor can know: one without clicks that was created
 * a moment ago. The API shows no times, so a filter that finds the link shows its age.
 */
export async function isFreshMove(
  before: JsonObject,
  input: JsonObject,
  { ask, keyContext }: Pick<Call, "ask" | "keyContext">,
): Promise<boolean> {
  const { id, path, clicks } = before;
  // A remote server may ignore the filter, and its clock may differ: there the age is unknown.
  if (!keyContext.checksConditions || clicks !== 0) return false;
  if (!movesPath(before, input) || typeof path !== "string") return false;
  const value = new Date(keyContext.clock.now() - unaskedMove_ms).toISOString();
  const filters: readonly FilterInput[] = [
    { field: "path", condition: "eq", value: path },
    { field: "created_at", condition: "gteq", value },
  ];
  const page = await readIfAllowed(() => ask(links.index, { filters }));
  return page?.links.some((link) => link.id === id) === true;
}

/** The links that open an app: how many, and those with the most clicks. */
export type TouchedLinks = {
  /** Left out where the server does not count them. */
  readonly count?: number;
  readonly best: readonly ReadLink[];
};

/** The filters that find an app's links, by the app's kind. */
export const appFilters: Readonly<Record<string, string>> = {
  ios_app: "ios_app_bundle_id",
  android_app: "android_app_package_name",
};
const mostBest = 3;

/** Undefined where no links depend on the target, or where the key may not list them. */
export async function readTouched(
  kind: ResourceKind,
  record: JsonObject,
  { ask }: Pick<Call, "ask">,
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
