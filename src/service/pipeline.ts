import type * as z from "zod";
import type { ApiReply, CarriedRequest, Via } from "../contract/api-message.ts";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { AddressBudgetName } from "../contract/budgets.ts";
import type { Waiter } from "../contract/clock.ts";
import { findAddressBudget, type Endpoint } from "../contract/endpoint.ts";
import { readId } from "../contract/fields.ts";
import { messages } from "../contract/messages.ts";
import {
  Problem,
  templateRefused,
  validationFailed,
  type FieldProblem,
} from "../contract/problem.ts";
import type { ClientHolder, KeyHolder } from "../store/keys.ts";
import { findToldAddress } from "../network/client-address.ts";
import { readAgent } from "../visit/read-platform.ts";
import { authenticate, authenticateApp, refuseClientKey } from "./authenticate.ts";
import type { BudgetCounters } from "./count-budgets.ts";
import { findFurtherFaults } from "./find-further-faults.ts";
import type { Services } from "./handler.ts";
import type { ClientKeyCache, KeyCache } from "./key-cache.ts";
import { readListQuery } from "./list-query.ts";
import { readPrecondition, type Precondition } from "./precondition.ts";
import { readBody, type ReadBody } from "./read-body.ts";
import { refuseUnknown } from "./refuse-unknown.ts";
import { requireAccess } from "./require-access.ts";
import { respondWith } from "./respond.ts";
import { writeWarning } from "./write-warning.ts";

/** A handler whose types the loop over the contract cannot follow. */
export type AnyHandler = (call: {
  readonly services: Services;
  readonly caller: KeyHolder | ClientHolder | null;
  readonly params: Readonly<Record<string, string>>;
  readonly list: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly address: string | undefined;
  readonly spend: (budget: AddressBudgetName) => Awaitable<void>;
  readonly agent: string;
  readonly precondition: Precondition;
  readonly isPatient: boolean;
  readonly via: Via | undefined;
  readonly warn: (text: string) => void;
  readonly signal: Waiter;
}) => Awaitable<Handled>;

type Handled = {
  readonly body: unknown;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

type Asked = {
  readonly endpoint: Endpoint;
  readonly handler: AnyHandler;
  readonly request: CarriedRequest;
  readonly params: Readonly<Record<string, string>>;
  readonly services: Services;
  readonly keyCache: KeyCache;
  readonly clientKeys: ClientKeyCache;
  readonly budgets: BudgetCounters;
  readonly signal: Waiter;
};

/**
 * One request from its key to its answer. The order is a promise: key, scope, role, plan, budget,
 * then the body, so nothing that a stranger sends is parsed.
 */
export function answer(asked: Asked): Awaitable<ApiReply> {
  const { endpoint, request } = asked;
  const query = readQuery(request.url);
  return andThen(admit(asked, query), (caller) => {
    if (request.onlyBudget === true) return respondWith(204, null);
    const selected = endpoint.list ?? endpoint.selects;
    const listed = selected && readListQuery(query, selected);
    const read = endpoint.body === undefined ? noBody : readBody(request, endpoint, endpoint.body);
    return andThen(read, ({ body, ignored, faults }) => {
      if (endpoint.ours === true) refuseUnknown(query, endpoint, listed?.ignored ?? []);
      const named = endpoint.query === undefined ? null : readNamed(query, endpoint.query);
      // A set: a transaction that is repeated gives its warnings again.
      const warnings = new Set(listIgnored(ignored, listed?.ignored ?? []));
      const warn = (text: string) => void warnings.add(text);
      const list = listed?.list ?? null;
      const understood = { caller, list, query: named, body, warn };
      if (faults.length > 0) return refuseFaulty(asked, understood, faults);
      const handled = handle(asked, understood);
      return andThen(handled, (result) => {
        const warning = [...warnings].map(writeWarning).join(", ");
        const headers = warning === "" ? result.headers : { ...result.headers, warning };
        return respondWith(result.status ?? endpoint.success.status, result.body, headers);
      });
    });
  });
}

/** One sentence lists every problem: fields of a wrong type, and rules that other fields break. */
async function refuseFaulty(
  asked: Asked,
  understood: Understood,
  faults: readonly FieldProblem[],
): Promise<never> {
  const run = (services: Services) => handle({ ...asked, services }, understood);
  const further = await findFurtherFaults(faults, asked.services, run);
  const all = [...faults, ...further];
  if (further.some(({ line }) => line !== undefined)) throw templateRefused(all);
  throw validationFailed(all, asked.endpoint.validation_key);
}

type Understood = Pick<Parameters<AnyHandler>[0], "caller" | "list" | "query" | "body" | "warn">;

function handle(asked: Asked, { caller, list, query, body, warn }: Understood): Awaitable<Handled> {
  const { handler, request, params, services, signal } = asked;
  return handler({
    services,
    caller,
    params: params["id"] === undefined ? {} : { id: readId(params["id"]) },
    list,
    query,
    body,
    address: findToldAddress(request.address, request.headers),
    spend: (budget) => spendOfAddress(asked, budget),
    agent: readAgent(request.headers),
    precondition: readPrecondition(request.headers),
    isPatient: request.isPatient === true,
    via: request.via,
    warn,
    signal,
  });
}

/** The specification has none of these: what is empty or there twice is a mistake, and is told. */
function readNamed(query: URLSearchParams, schema: z.ZodObject): Readonly<Record<string, string>> {
  const named = Object.keys(schema.shape).flatMap((name) => {
    const [value, ...more] = query.getAll(name);
    if (more.length > 0) throw new Problem(422, messages.parameter_repeated(name));
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(named);
}

const noBody: ReadBody = { body: {}, ignored: [], faults: [] };

function listIgnored(fields: readonly string[], filters: readonly string[]): readonly string[] {
  if (fields.length > 0) return [messages.fields_ignored(fields.join(", "))];
  return filters.length === 0 ? [] : [messages.filters_ignored(filters.join(", "))];
}

function admit(asked: Asked, query: URLSearchParams): Awaitable<KeyHolder | ClientHolder | null> {
  const own = findAddressBudget(asked.endpoint);
  switch (asked.endpoint.auth) {
    case "none":
      return andThen(spendOfAddress(asked, own), () => {
        refuseClientKey(asked.request, query);
        return null;
      });
    case "client":
      // Whoever guesses at keys is counted as well.
      return andThen(spendOfAddress(asked, own), () =>
        authenticateApp(asked.request, query, asked.clientKeys),
      );
    case "project":
    case "master":
      return admitKey(asked, query);
  }
}

function admitKey(
  { endpoint, request, services, keyCache, budgets }: Asked,
  query: URLSearchParams,
): Awaitable<KeyHolder> {
  return andThen(authenticate(request, query, keyCache), (holder) => {
    services.noteKeyUse?.(holder.key_id);
    requireAccess(holder, endpoint);
    if (endpoint.budget === undefined || request.isFree === true) return holder;
    if (request.onlyBudget === true) {
      budgets.requireLeft(holder.key_id, endpoint.budget);
      return holder;
    }
    return andThen(budgets.spend(holder.key_id, endpoint.budget), () => holder);
  });
}

/** A call within this process has no address, and is not a stranger's. */
function spendOfAddress(
  { request: { address }, services }: Asked,
  budget: AddressBudgetName | undefined,
): Awaitable<void> {
  if (address === undefined || budget === undefined) return undefined;
  return services.addresses.spend(address, budget);
}

/** It is only read. */
const noQuery = new URLSearchParams();

function readQuery(url: string): URLSearchParams {
  const start = url.indexOf("?");
  const end = url.indexOf("#");
  if (start < 0) return noQuery;
  return new URLSearchParams(url.slice(start + 1, end < start ? undefined : end));
}
