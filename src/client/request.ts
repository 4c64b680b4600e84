import type { ApiRequest, Via } from "../contract/api-message.ts";
import { pickLasting, type Condition } from "../contract/condition.ts";
import { idParameter, pickFields, type Endpoint } from "../contract/endpoint.ts";
import { isOwnField, searchName, toPlainFilter, type ListInput } from "../contract/filters.ts";
import { apiPrefix } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { notFound, unauthorized } from "../contract/problem.ts";
import { digestOf } from "../text/digest.ts";

/** From an entry and its flat input to the request that asks for it. */

/** Where requests go and whose they are. */
export type Target = {
  /** The deployment's origin; the versioned prefix is appended. */
  readonly origin: string;
  readonly key: string | undefined;
  /** Whether the deployment refuses a write whose condition does not hold, as only ours does. */
  readonly checksConditions?: boolean;
  /** Said to our own service alone. */
  readonly via?: Via | undefined;
};

export type RequestOptions = {
  /** Else the write is refused with 412, by a deployment that checks conditions. */
  readonly condition?: Condition | undefined;
  /** Asks our own service to let other writes go first; no remote server is asked. */
  readonly isPatient?: boolean | undefined;
  /** By what the call that this one is for is known in logs. */
  readonly requestId?: string | undefined;
  /** Waypost asks for itself: our own service charges no budget, a remote one does as always. */
  readonly isFree?: boolean | undefined;
  /** Asks our own service whether the key's budget is spent; no remote server is asked. */
  readonly onlyBudget?: boolean | undefined;
};

/** Refuses in the API's own words what no request can carry to it. */
export function buildRequest(
  endpoint: Endpoint,
  input: JsonObject,
  target: Target,
  { condition, isPatient, requestId, isFree, onlyBudget }: RequestOptions = {},
): ApiRequest {
  const query = writeQuery(endpoint, input);
  const body = endpoint.body === undefined ? undefined : JSON.stringify(buildBody(endpoint, input));
  const key = endpoint.auth === "none" ? undefined : target.key;
  return {
    method: endpoint.method,
    url: target.origin + apiPrefix + fillPath(endpoint, input) + query,
    headers: {
      accept: endpoint.type ?? "application/json",
      ...(endpoint.type !== undefined && nameBrowser(input)),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(key !== undefined && { authorization: `Token ${checkKey(key)}` }),
      ...(isSent(condition, target) && writeCondition(condition)),
    },
    body,
    requestId,
    via: target.via,
    isFree,
    isPatient,
    onlyBudget,
  };
}

/**
 * Only our own service computes the same tags. A server that ignores `If-Match: *` still carries
 * out the request, and a remote Waypost creates nothing by it.
 */
function isSent(condition: Condition | undefined, target: Target): condition is Condition {
  return condition !== undefined && (target.checksConditions === true || condition === "present");
}

/** The tag of a record is a digest of what was shown of it. */
function writeCondition(condition: Condition): Readonly<Record<string, string>> {
  if (condition === "absent") return { "if-none-match": "*" };
  if (condition === "present") return { "if-match": "*" };
  return { "if-match": `"${digestOf(pickLasting(condition.shown))}"` };
}

/** A page may be another one for another browser. */
function nameBrowser({ user_agent }: JsonObject): Readonly<Record<string, string>> {
  return typeof user_agent === "string" ? { "user-agent": user_agent } : {};
}

/** A header that cannot carry its value says so with the value, and that is the key. */
function checkKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw unauthorized(messages.key_malformed);
}

function buildBody(endpoint: Endpoint, input: JsonObject): JsonObject {
  const fields = pickFields(endpoint, input);
  return endpoint.wrapper === undefined ? fields : { [endpoint.wrapper]: fields };
}

function fillPath({ path }: Endpoint, input: JsonObject): string {
  if (!path.includes(idParameter)) return path;
  const id = encodeURIComponent(String(input["id"]).toWellFormed());
  // These would name another endpoint, and no resource has such an id.
  if (id === "" || id === "." || id === "..") throw notFound(messages.route_unknown);
  return path.replace(idParameter, () => id);
}

function writeQuery(endpoint: Endpoint, input: JsonObject): string {
  const { list, selects, query } = endpoint;
  if (list === undefined && query === undefined) return "";
  const built = buildQuery(list ?? selects, input);
  for (const name of Object.keys(query?.shape ?? {})) {
    const value = input[name];
    if (typeof value === "string") built.set(name, value);
  }
  return `?${String(built)}`;
}

function buildQuery(list: Endpoint["list"] | Endpoint["selects"], input: ListInput) {
  const { page, limit, filters = [], sort, search, count_to } = input;
  const query = new URLSearchParams();
  if (page !== undefined) query.set("page", String(page));
  if (limit !== undefined) query.set("limit", String(limit));
  if (count_to !== undefined) query.set("count_to", String(count_to));
  if (sort !== undefined) query.set("q[s]", `${sort.field} ${sort.direction}`);
  if (search !== undefined) query.set(`f[${searchName}]`, search);
  for (const { field, condition, value } of filters.map(toPlainFilter)) {
    const letter = isOwnField(list, field) ? "f" : "q";
    const name = `${letter}[${field}_${condition}]`;
    if (Array.isArray(value)) for (const item of value) query.append(`${name}[]`, String(item));
    else query.append(name, String(value));
  }
  return query;
}
