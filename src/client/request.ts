import type { ApiRequest, Via } from "../contract/api-message.ts";
import { pickLasting, type WriteCondition } from "../contract/condition.ts";
import { idParameter, pickFields, type Endpoint } from "../contract/endpoint.ts";
import { isOwnField, searchName, toPlainFilter, type ListInput } from "../contract/filters.ts";
import { apiPrefix } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { notFound, unauthorized } from "../contract/problem.ts";
import { digestOf } from "../text/digest.ts";

/** The server and the API key. */
export type RequestTarget = {
  /** The server's origin, without the versioned prefix. */
  readonly origin: string;
  readonly key: string | undefined;
  /** Whether the server checks preconditions of writes. Only Waypost's own service does. */
  readonly checksConditions?: boolean;
  /** Only sent to Waypost's own service. */
  readonly via?: Via | undefined;
};

export type RequestOptions = {
  /**
   * The precondition of a write. Waypost's own service rejects the write with 412 if it fails.
   * Other servers ignore it.
   */
  readonly condition?: WriteCondition | undefined;
  /** Lets other writes go first. Only for Waypost's own service. */
  readonly isPatient?: boolean | undefined;
  /** The id of the original call in the logs. */
  readonly requestId?: string | undefined;
  /** Exempts the call from rate limits. Only for Waypost's own service. */
  readonly isFree?: boolean | undefined;
  /** Only checks the rate limit. Only for Waypost's own service. */
  readonly onlyBudget?: boolean | undefined;
};

/** Throws the API's own error for values that a request cannot contain. */
export function buildRequest(
  endpoint: Endpoint,
  input: JsonObject,
  target: RequestTarget,
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
 * Only Waypost's own service computes the same tags. `If-Match: *` is safe for every server: others
 * ignore it, and a remote Waypost then creates nothing.
 */
function isSent(
  condition: WriteCondition | undefined,
  target: RequestTarget,
): condition is WriteCondition {
  return condition !== undefined && (target.checksConditions === true || condition === "present");
}

/** The tag is a digest of the record that the caller has seen. */
function writeCondition(condition: WriteCondition): Readonly<Record<string, string>> {
  if (condition === "absent") return { "if-none-match": "*" };
  if (condition === "present") return { "if-match": "*" };
  return { "if-match": `"${digestOf(pickLasting(condition.shown))}"` };
}

/** Preview pages depend on the browser. */
function nameBrowser({ user_agent }: JsonObject): Readonly<Record<string, string>> {
  return typeof user_agent === "string" ? { "user-agent": user_agent } : {};
}

/** The error of an invalid header would contain its value, which is the key. */
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
  // These ids would change the URL to another endpoint. No resource has them.
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
