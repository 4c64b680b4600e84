import type { ApiReply, CarriedRequest } from "../contract/api-message.ts";
import type { AddressBudgetName } from "../contract/budgets.ts";
import type { Waiter } from "../contract/clock.ts";
import { findAddressBudget, type Endpoint } from "../contract/endpoint.ts";
import { readId } from "../contract/fields.ts";
import { limits } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import {
  methodNotAllowed,
  notFound,
  Problem,
  templateRefused,
  validationFailed,
  type FieldProblem,
  type PlacedProblem,
} from "../contract/problem.ts";
import { isStoreToken } from "../contract/rules/link-rules.ts";
import { findOwnAddress } from "../network/client-address.ts";
import { readAgent } from "../visit/read-platform.ts";
import { authenticate, isApiKey, type KeyCache } from "./authenticate.ts";
import type { Services, UntypedHandler } from "./handler.ts";
import { readPrecondition } from "./precondition.ts";
import { readBody } from "./read-body.ts";
import { readQuery } from "./read-query.ts";
import { requireAccess } from "./require-access.ts";
import { respondWith, writeWarning } from "./respond.ts";
import type { FoundRoute, PathMatch, Route } from "./router.ts";

type ReceivedRequest = {
  readonly request: CarriedRequest;
  /** The patterns that match the URL. */
  readonly matches: readonly PathMatch[];
  readonly found: FoundRoute | undefined;
  readonly services: Services;
  readonly keys: KeyCache;
  readonly signal: Waiter;
};

/**
 * Answers one request. The order of the checks is guaranteed: key, scope, role, plan, rate limit,
 * then the body. So the body of an unauthorized caller is never parsed.
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
    // Calls within this process have no IP address, so no limit per IP address applies.
    if (address !== undefined) await services.budgets.spendByAddress(address, budget);
  };
  const addressBudget = findAddressBudget(endpoint);
  // Before the key check, so that guessed keys count as well.
  if (addressBudget !== undefined) await spend(addressBudget);
  const caller = await authenticate(request, parameters, endpoint.auth, keys);
  if (isApiKey(caller)) {
    services.noteKeyUse?.(caller.key_id);
    requireAccess(caller, endpoint);
    await spendOfKey(caller.key_id, received, endpoint);
  }
  if (request.onlyBudget === true) return respondWith(204, null);

  const { list, named, ignored: filters } = readQuery(parameters, endpoint);
  const { body, ignored: fields, faults } = await readBody(request, endpoint);
  // A set, because a repeated transaction repeats its warnings.
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
    address: findOwnAddress(address, headers),
    spend,
    agent: readAgent(headers),
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

/** Answers a method that no endpoint has at this path. `OPTIONS` lists the available methods. */
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

/** Shared, because it is never changed. */
const noParameters = new URLSearchParams();

function readParameters(url: string): URLSearchParams {
  const [, query] = /^[^?#]*\?([^#]*)/.exec(url) ?? [];
  return query === undefined ? noParameters : new URLSearchParams(query);
}

/**
 * Rejects a body with fields of a wrong type, and reports all problems in one message. To find
 * broken rules of the other fields, the handler runs without the invalid ones. Its writes are
 * discarded.
 */
async function refuseFaulty(
  faults: readonly FieldProblem[],
  { endpoint, handler }: Route,
  call: Parameters<UntypedHandler>[0],
): Promise<Problem> {
  const { services } = call;
  const store = discardWrites(services.store);
  let further: readonly PlacedProblem[] = [];
  try {
    await handler({ ...call, services: { ...services, store, noteVisit: undefined } });
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

/** Checks whether a rule was broken only because a field of a wrong type was removed. */
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
