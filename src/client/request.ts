import type { ApiRequest, RequestSource } from "../contract/api-message.ts";
import { pickLasting, type WriteCondition } from "../contract/condition.ts";
import { idParameter, pickFields, type Endpoint } from "../contract/endpoint.ts";
import { isOwnField, searchName, toPlainFilter, type ListInput } from "../contract/filters.ts";
import { apiPrefix } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { notFound, unauthorized } from "../contract/problem.ts";
import { hashValue } from "../text/digest.ts";

/** Builds the HTTP request of an API call. */

/** The server and the API key for a request. */
export type RequestTarget = {
  /** The server's origin, without the version prefix. */
  readonly origin: string;
  readonly key: string | undefined;
  /** Whether the server is Waypost's own service in this process. */
  readonly isEmbedded?: boolean;
  /** Set for requests from the console. Sent only to Waypost's own service. */
  readonly via?: RequestSource | undefined;
};

export type RequestOptions = {
  /**
   * The precondition of a write. If it is not met, Waypost's own service rejects the write with a
   * 412. Other servers ignore the precondition.
   */
  readonly condition?: WriteCondition | undefined;
  /** Whether to let other callers' writes go first. Supported only by Waypost's own service. */
  readonly isPatient?: boolean | undefined;
  /** The ID of the call that caused this request, for the logs. */
  readonly requestId?: string | undefined;
  /** Whether rate limits do not apply. Supported only by Waypost's own service. */
  readonly isFree?: boolean | undefined;
  /** Checks the rate limit without making the call. Supported only by Waypost's own service. */
  readonly onlyBudget?: boolean | undefined;
};

/**
 * Builds the HTTP request. If a value cannot be part of a request, throws the error that the API
 * would return.
 */
export function buildRequest(
  endpoint: Endpoint,
  input: JsonObject,
  target: RequestTarget,
  { condition, isPatient, requestId, isFree, onlyBudget }: RequestOptions = {},
): ApiRequest {
  const { wrapper } = endpoint;
  const fields = pickFields(endpoint, input);
  const sent = wrapper === undefined ? fields : { [wrapper]: fields };
  const body = endpoint.body && JSON.stringify(sent);
  // The preview of a page depends on the browser's user agent.
  const browser = endpoint.type && input["user_agent"];
  const key = endpoint.auth === "none" ? undefined : target.key;
  return {
    method: endpoint.method,
    url: target.origin + apiPrefix + fillPath(endpoint, input) + writeQuery(endpoint, input),
    headers: {
      accept: endpoint.type ?? "application/json",
      ...(typeof browser === "string" && { "user-agent": browser }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(key !== undefined && { authorization: `Token ${checkKey(key)}` }),
      ...writeCondition(condition, target),
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
 * Returns the header for a precondition. The ETag is a digest of the record that the caller has
 * read.
 */
function writeCondition(
  condition: WriteCondition | undefined,
  { isEmbedded }: RequestTarget,
): Readonly<Record<string, string>> {
  // This header is safe to send to any server. It keeps a remote Waypost from creating a record,
  // and other servers ignore it.
  if (condition === "present") return { "if-match": "*" };
  // No server except Waypost's own service computes the same ETags.
  if (condition === undefined || isEmbedded !== true) return {};
  if (condition === "absent") return { "if-none-match": "*" };
  return { "if-match": `"${hashValue(pickLasting(condition.shown))}"` };
}

/** Checks the key first, because the error for an invalid header would contain the key. */
function checkKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw unauthorized(messages.key_malformed);
}

function fillPath({ path }: Endpoint, input: JsonObject): string {
  if (!path.includes(idParameter)) return path;
  const id = encodeURIComponent(String(input["id"]).toWellFormed());
  // With these IDs, the URL would belong to another endpoint. No record has such an ID.
  if (id === "" || id === "." || id === "..") throw notFound(messages.route_unknown);
  return path.replace(idParameter, () => id);
}

function writeQuery({ list, selects, query }: Endpoint, input: JsonObject & ListInput): string {
  if (list === undefined && query === undefined) return "";
  const { page, limit, filters = [], sort, search, count_to } = input;
  const order = sort && `${sort.field} ${sort.direction}`;
  const given = { page, limit, count_to, "q[s]": order, [`f[${searchName}]`]: search };
  const named = Object.keys(query?.shape ?? {}).map((name) => [name, input[name]] as const);
  const written = new URLSearchParams();
  for (const [name, value] of [...Object.entries(given), ...named]) {
    if (typeof value === "string" || typeof value === "number") written.set(name, String(value));
  }
  for (const { field, condition, value } of filters.map(toPlainFilter)) {
    const letter = isOwnField(list ?? selects, field) ? "f" : "q";
    const name = `${letter}[${field}_${condition}]`;
    if (Array.isArray(value)) for (const item of value) written.append(`${name}[]`, String(item));
    else written.append(name, String(value));
  }
  return `?${String(written)}`;
}
