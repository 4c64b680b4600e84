import type { ApiRequest, Via } from "../contract/api-message.ts";
import { pickLasting, type WriteCondition } from "../contract/condition.ts";
import { idParameter, pickFields, type Endpoint } from "../contract/endpoint.ts";
import { isOwnField, searchName, toPlainFilter, type ListInput } from "../contract/filters.ts";
import { apiPrefix } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { messages } from "../contract/messages.ts";
import { notFound, unauthorized } from "../contract/problem.ts";
import { digestOf } from "../text/digest.ts";

/** The server and the API key for a request. */
export type RequestTarget = {
  /** The server's origin, without the version prefix. */
  readonly origin: string;
  readonly key: string | undefined;
  /** Whether the server is Waypost's own service in this process. */
  readonly isEmbedded?: boolean;
  /** Sent only to Waypost's own service. */
  readonly via?: Via | undefined;
};

export type RequestOptions = {
  /**
   * The precondition of a write. Waypost's own service rejects the write with 412 if the
   * precondition fails. Other servers ignore it.
   */
  readonly condition?: WriteCondition | undefined;
  /** Whether other writes take precedence. Supported only by Waypost's own service. */
  readonly isPatient?: boolean | undefined;
  /** The ID of the original call, for the logs. */
  readonly requestId?: string | undefined;
  /** Whether the call is exempt from rate limits. Supported only by Waypost's own service. */
  readonly isFree?: boolean | undefined;
  /** Checks the rate limit without making the call. Supported only by Waypost's own service. */
  readonly onlyBudget?: boolean | undefined;
};

/** Builds the HTTP request. Throws the API's own error for values that it cannot contain. */
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
 * Writes the precondition as a header. Its ETag is a digest of the record that the caller has seen.
 */
function writeCondition(
  condition: WriteCondition | undefined,
  { isEmbedded }: RequestTarget,
): Readonly<Record<string, string>> {
  // This header is safe for every server: a remote Waypost creates nothing, and others ignore it.
  if (condition === "present") return { "if-match": "*" };
  // Only Waypost's own service computes the same ETags.
  if (condition === undefined || isEmbedded !== true) return {};
  if (condition === "absent") return { "if-none-match": "*" };
  return { "if-match": `"${digestOf(pickLasting(condition.shown))}"` };
}

/** Validates the key first, because the error for an invalid header would contain it. */
function checkKey(key: string): string {
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw unauthorized(messages.key_malformed);
}

function fillPath({ path }: Endpoint, input: JsonObject): string {
  if (!path.includes(idParameter)) return path;
  const id = encodeURIComponent(String(input["id"]).toWellFormed());
  // These ids would turn the URL into that of another endpoint. No resource has them.
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
