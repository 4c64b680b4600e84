import type { ApiReply, CarriedRequest } from "../contract/api-message.ts";
import { limits, type AddressBudgetName } from "../contract/limits.ts";
import type { Waiter } from "../contract/clock.ts";
import {
  findAddressBudget,
  idParameter,
  listMethods,
  type Endpoint,
} from "../contract/endpoint.ts";
import { readId } from "../contract/fields.ts";
import { apiPrefix } from "../contract/index.ts";
import { messages } from "../contract/messages.ts";
import {
  methodNotAllowed,
  notFound,
  Problem,
  templateRefused,
  validationFailed,
  explainOutage,
  makeTakenProblem,
  unauthorized,
  type FieldProblem,
  type TextProblem,
} from "../contract/problem.ts";
import { isStoreToken } from "../contract/rules/link-rules.ts";
import { ProjectGone } from "../store/projects.ts";
import { Duplicate, isFull, readOutage } from "../store/store.ts";
import { readPrecondition, type Services, type UntypedHandler } from "./handler.ts";
import { authenticate, isApiKey, requireAccess, type KeyCache } from "./keys.ts";
import { readBody, type ReadBody } from "./read-body.ts";
import { readQuery, type ReadQuery } from "./read-query.ts";

/** Answers API requests: finds the endpoint, checks the request and calls the handler. */

type ReceivedRequest = {
  readonly request: CarriedRequest;
  readonly matches: readonly PathMatch[];
  readonly found: FoundRoute | undefined;
  readonly services: Services;
  readonly keys: KeyCache;
  readonly signal: Waiter;
};

/**
 * Answers one request. The order of the checks is guaranteed: key, scope, role, plan, rate limit,
 * body. So the body of an unauthorized request is never parsed.
 */
export async function answer(received: ReceivedRequest): Promise<ApiReply> {
  const { request, matches, found, services, keys, signal } = received;
  const { url, address, headers, method } = request;
  if (found === undefined) return answerOther(method, matches);
  if (url.length > limits.address_characters) throw new Problem(414, messages.address_too_long);
  const { route, id } = found;
  const { endpoint, handler } = route;
  const parameters = readParameters(url);

  const spend = async (budget: AddressBudgetName): Promise<void> => {
    // Calls from this process have no IP address, so no limit per IP address applies.
    if (address !== undefined) await services.budgets.spendByAddress(address, budget);
  };
  const addressBudget = findAddressBudget(endpoint);
  // Counts the request before the key check, so that attempts to guess a key count too.
  if (addressBudget !== undefined) await spend(addressBudget);
  const caller = await authenticate(request, parameters, endpoint.auth, keys);
  if (isApiKey(caller)) {
    services.noteKeyUse?.(caller.key_id);
    requireAccess(caller, endpoint);
    await spendOfKey(caller.key_id, received, endpoint);
  }
  if (request.onlyBudget === true) return respondWith(204, null);

  const asked = takesQuery(endpoint) ? readQuery(parameters, endpoint) : noQuery;
  const { list, named, ignored: filters } = asked;
  const { body: schema } = endpoint;
  const sent = schema === undefined ? noBody : await readBody(request, endpoint, schema);
  const { body, ignored: fields, faults } = sent;
  // A set, because a retried transaction adds the same warnings again.
  const warnings = new Set<string>();
  if (fields.length > 0) warnings.add(messages.fields_ignored(fields.join(", ")));
  if (filters.length > 0) warnings.add(messages.filters_ignored(filters.join(", ")));
  const call = {
    services,
    caller,
    params: id === undefined ? {} : { id: readId(id) },
    list,
    query: named,
    body,
    address,
    headers,
    spend,
    precondition: readPrecondition(headers),
    isPatient: request.isPatient === true,
    via: request.via,
    warn: (text: string) => void warnings.add(text),
    signal,
  };
  if (faults.length > 0) throw await refuseFaulty(faults, route, call);

  const result = await handler(call);
  const warning = [...warnings].map(writeWarning).join(", ");
  const more = warning === "" ? result.headers : { ...result.headers, warning };
  return respondWith(result.status ?? endpoint.success.status, result.body, more);
}

/** Answers a method without an endpoint: lists the allowed methods for `OPTIONS`, or throws. */
function answerOther(method: string, matches: readonly PathMatch[]): ApiReply {
  const known = new Set(matches.flatMap(({ routes }) => [...routes.keys()]));
  if (known.size === 0) throw notFound(messages.route_unknown);
  const allowed = [...known, "OPTIONS"];
  if (method !== "OPTIONS") throw methodNotAllowed(allowed);
  return respondWith(204, null, { allow: allowed.join(", ") });
}

async function spendOfKey(
  keyId: string,
  { request, services: { budgets } }: ReceivedRequest,
  { budget }: Endpoint,
): Promise<void> {
  if (budget === undefined || request.isFree === true) return;
  if (request.onlyBudget === true) budgets.requireLeft(keyId, budget);
  else await budgets.spend(keyId, budget);
}

const noBody: ReadBody = { body: {}, ignored: [], faults: [] };
const noQuery: ReadQuery = { list: null, named: null, ignored: [] };
const noParameters = new URLSearchParams();

/** Waypost's own endpoints also read the query, because they reject unknown parameters. */
function takesQuery({ list, selects, query, ours }: Endpoint): boolean {
  return (list ?? selects ?? query) !== undefined || ours === true;
}

function readParameters(url: string): URLSearchParams {
  const [, query] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  return query === undefined ? noParameters : new URLSearchParams(query);
}

/**
 * Reports all problems of a body that has fields of the wrong type. To check the other
 * fields, it runs the handler without the invalid fields and discards the handler's writes.
 */
async function refuseFaulty(
  faults: readonly FieldProblem[],
  { endpoint, handler }: Route,
  call: Parameters<UntypedHandler>[0],
): Promise<Problem> {
  const { services } = call;
  const store = discardWrites(services.store);
  let further: readonly TextProblem[] = [];
  try {
    await handler({ ...call, services: { ...services, store, noteReported: undefined } });
  } catch (error) {
    const found = error instanceof Problem ? (error.faults ?? error.problems ?? []) : [];
    further = found.flatMap((one) => {
      const { field } = one;
      return field === undefined || isSpoiled(field, faults) ? [] : [{ ...one, field }];
    });
  }
  const all = [...faults, ...further];
  return further.some(({ line }) => line !== undefined)
    ? templateRefused(all)
    : validationFailed(all, endpoint.validation_key);
}

/** Whether a rule failed only because a field of the wrong type was removed. */
function isSpoiled(field: string, faults: readonly FieldProblem[]): boolean {
  return faults.some((fault) => {
    const isPair = isStoreToken(field) && isStoreToken(fault.field);
    return isPair || fault.field.split(".").includes(field);
  });
}

function discardWrites(store: Services["store"]): Services["store"] {
  return {
    ...store,
    write: (work, options) =>
      store.write(async (db) => {
        await work(db);
        throw validationFailed([]);
      }, options),
  };
}

export type Route = {
  readonly endpoint: Endpoint;
  readonly handler: UntypedHandler;
};

/** A path pattern that matches a URL: its endpoints by method, and the id in the URL. */
export type PathMatch = {
  readonly routes: ReadonlyMap<string, Route>;
  readonly id: string | undefined;
};

type FoundRoute = Pick<PathMatch, "id"> & { readonly route: Route };

/** Finds the patterns that match a URL, most specific first. */
type MatchPath = (url: string) => readonly PathMatch[];

export function createRouter(all: readonly Route[]): MatchPath {
  const byPattern = new Map<string, Map<string, Route>>();
  for (const route of all) {
    const path = dropEnding(apiPrefix + route.endpoint.path);
    const routes = byPattern.get(path) ?? new Map<string, Route>();
    byPattern.set(path, routes);
    for (const method of listMethods(route.endpoint)) routes.set(method, route);
  }
  return (url) =>
    listPatterns(readPath(url)).flatMap(({ pattern, id }) => {
      const routes = byPattern.get(pattern);
      return routes === undefined ? [] : [{ routes, id }];
    });
}

/** Finds the route in the most specific pattern that supports the method. */
export function findRoute(matches: readonly PathMatch[], method: string): FoundRoute | undefined {
  for (const { routes, id } of matches) {
    const route = routes.get(method);
    if (route !== undefined) return { route, id };
  }
  return undefined;
}

type Pattern = Pick<PathMatch, "id"> & { readonly pattern: string };

/** Lists the path itself, and the path with `:id` as its last or second-to-last segment. */
function listPatterns(path: string): readonly Pattern[] {
  // Without this check, a path that contains the placeholder would match a pattern.
  if (path.includes(idParameter)) return [];
  const patterns: Pattern[] = [{ pattern: path, id: undefined }];
  for (const end of [path.length, path.lastIndexOf("/")]) {
    const slash = path.lastIndexOf("/", end - 1);
    const id = path.slice(slash + 1, end);
    if (slash < 0 || id === "") continue;
    patterns.push({ pattern: path.slice(0, slash + 1) + idParameter + path.slice(end), id });
  }
  return patterns;
}

/** Returns the path without a trailing slash or `.json`. Clients may add either. */
function readPath(url: string): string {
  const path = decode(cutPath(url));
  return dropEnding(path.endsWith("/") ? path.slice(0, -1) : path);
}

function dropEnding(path: string): string {
  return path.endsWith(".json") ? path.slice(0, -".json".length) : path;
}

/** Returns the path of a URL. The URL may have no scheme and host. */
function cutPath(url: string): string {
  const [, path = ""] = /^(?:\w+:\/\/[^/?#]*)?([^?#]*)/.exec(url) ?? [];
  return path;
}

/** Decodes a path. A path with invalid percent-encoding stays encoded, and matches no endpoint. */
function decode(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

/** The headers of every response with a body. Responses are private, so they are never cached. */
const replyHeaders = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

export function respondWith(
  status: number,
  body: unknown,
  more?: Readonly<Record<string, string>>,
): ApiReply {
  const own = body === null ? { "cache-control": "no-store" } : replyHeaders;
  return { status, headers: more === undefined ? own : { ...own, ...more }, body };
}

/** The maximum size of a `Warning` header. Proxies reject long headers. */
const mostWarningBytes = 500;

/**
 * Formats a `Warning` header (RFC 7234, section 5.5). The text may contain names from the request,
 * so unsafe characters are escaped or replaced.
 */
function writeWarning(text: string): string {
  const [opening, closing] = ['299 waypost "', '"'];
  let quoted = "";
  for (const letter of text) {
    const safe = /[\x20-\x7e]/.test(letter) ? letter.replace(/["\\]/, "\\$&") : "?";
    if (opening.length + quoted.length + safe.length + closing.length > mostWarningBytes) break;
    quoted += safe;
  }
  return opening + quoted + closing;
}

export function respondWithProblem(problem: Problem): ApiReply {
  const { status, key, message, problems } = problem;
  return {
    status,
    headers: { ...replyHeaders, ...problem.headers },
    body: { [key]: message, ...(problems && { problems }) },
  };
}

/**
 * Converts an error to the problem that is sent to the caller. An unexpected error is reported to
 * the operator, and the caller gets only a reference to it.
 */
export function toProblem(error: unknown, report: (error: unknown) => string): Problem {
  if (error instanceof Problem) return error;
  const outage = readOutage(error);
  if (outage !== undefined) return explainOutage(outage);
  if (error instanceof Duplicate) return describeDuplicate(error);
  if (error instanceof ProjectGone) return unauthorized(messages.key_invalid);
  if (isFull(error)) return new Problem(500, messages.store_full);
  return new Problem(500, messages.internal(report(error)));
}

/**
 * Describes a conflict between two concurrent writes of the same value. The last column of the
 * constraint contains that value.
 */
function describeDuplicate({ columns }: Duplicate): Problem {
  const column = columns.at(-1)?.split(".").at(-1) ?? "value";
  return validationFailed([makeTakenProblem(column === "address" ? "path" : column)]);
}
