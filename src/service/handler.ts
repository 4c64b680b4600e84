import type { ApiRequest, RequestSource } from "../contract/api-message.ts";
import type { Awaitable } from "../contract/waiting.ts";
import type { AddressBudgetName } from "../contract/limits.ts";
import type { Clock, Random, Waiter } from "../contract/clock.ts";
import { pickLasting } from "../contract/condition.ts";
import type { Body, Endpoint, Output, Params, Query } from "../contract/endpoint.ts";
import type { RequestedList } from "../contract/filters.ts";
import type { ServedEndpoints } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { alreadyExists, changedSince } from "../contract/problem.ts";
import type { CountedVisit } from "../stats/visit.ts";
import type { ClientKeyWithProject, KeyWithProject } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import type { Tenant } from "../store/tables.ts";
import { hashValue } from "../text/digest.ts";
import type { Budgets } from "./budgets.ts";
import type { WaitInQueue } from "../template/check-queue.ts";

/** Types and functions that all handlers of endpoints share. */

/** The shared dependencies of all handlers. A handler answers the calls of one endpoint. */
export type Services = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Returns the link origin, which may contain `{subdomain}`. Its port may change at run time. */
  readonly readLinkOrigin: () => string;
  /** A second origin for the same links. Only the Open button of preview pages uses it. */
  readonly secondOrigin?: string | undefined;
  /**
   * Waits until the pending clicks of a link, or of all links of a project, are stored. A process
   * without a link host has no pending clicks, so this function is undefined there.
   */
  readonly waitForClicks?: (projectId: string, linkId?: string) => Awaitable<void>;
  /** Counts opens and installs reported by apps. Undefined in a process without a link host. */
  readonly noteReported?: ((visit: CountedVisit) => void) | undefined;
  readonly waitInQueue: WaitInQueue;
  readonly budgets: Budgets;
  readonly noteKeyUse?: ((keyId: string) => void) | undefined;
};

type ProjectCaller = KeyWithProject & { readonly project: NonNullable<KeyWithProject["project"]> };

/** The type of `caller`, depending on the kind of key that the endpoint requires. */
type CallerOf<Auth> = Auth extends "project"
  ? ProjectCaller
  : Auth extends "client"
    ? ClientKeyWithProject
    : null;

type CommonCall = {
  readonly services: Services;
  /** The IP address of the client, or of a proxy (see `findOwnAddress`). */
  readonly address: string | undefined;
  readonly headers: ApiRequest["headers"];
  /** Counts the call against an additional rate limit per IP address. */
  readonly spend: (budget: AddressBudgetName) => Awaitable<void>;
  readonly precondition: Precondition;
  /** True for background writes, which have a lower priority. */
  readonly isPatient: boolean;
  readonly via: RequestSource | undefined;
  /** Adds a warning to the `Warning` header of a successful response. */
  readonly warn: (text: string) => void;
  /** Whether the caller is still waiting. No new work may start after a disconnect or a 503. */
  readonly signal: Waiter;
};

/** A call that has passed all checks. Its query and body are parsed. */
type HandlerCall<E extends Endpoint> = CommonCall & {
  readonly caller: CallerOf<E["auth"]>;
  readonly params: Params<E>;
  readonly list: E["list"] extends object
    ? RequestedList
    : E["selects"] extends object
      ? RequestedList
      : null;
  readonly query: Query<E>;
  readonly body: Body<E>;
};

type HandlerReply<E extends Endpoint> = {
  readonly body: Output<E>;
  readonly status?: number;
  /** Additional headers, only for HTML pages. */
  readonly headers?: Readonly<Record<string, string>>;
};

type Handler<E extends Endpoint> = (call: HandlerCall<E>) => Awaitable<HandlerReply<E>>;

export type UntypedHandler = (
  call: CommonCall & Readonly<Record<"caller" | "params" | "list" | "query" | "body", unknown>>,
) => Awaitable<Omit<HandlerReply<Endpoint>, "body"> & { readonly body: unknown }>;

/** The handlers of a group of endpoints. A missing handler is a compile error. */
export type GroupHandlers<Group extends Record<string, Endpoint>> = {
  readonly [Name in keyof Group]: Handler<Group[Name]>;
};

export type Handlers = {
  readonly [Name in keyof ServedEndpoints]: GroupHandlers<ServedEndpoints[Name]>;
};

export type WriteCall = Pick<
  CommonCall,
  "services" | "precondition" | "isPatient" | "via" | "warn"
> & {
  readonly caller: ProjectCaller;
  readonly signal: Pick<Waiter, "hasLeft">;
};

export function readTenant({ services, caller }: Pick<WriteCall, "services" | "caller">): Tenant {
  return { db: services.store.db, projectId: caller.project.id };
}

export function waitForClicks(
  { services, caller }: Omit<WriteCall, "signal">,
  linkId?: string,
): Awaitable<void> {
  return services.waitForClicks?.(caller.project.id, linkId);
}

/** Runs `work` on the caller's project in a transaction. */
export function writeTenant<Result>(
  { services, caller, signal, isPatient }: WriteCall,
  work: (tenant: Tenant) => Promise<Result>,
): Promise<Result> {
  const options = { signal, isPatient };
  return services.store.write((db) => work({ db, projectId: caller.project.id }), options);
}

/**
 * The conditions of a write: `If-None-Match: *`, or `If-Match` with the ETag of the version that
 * the caller has read. The transaction of the write checks them, so nothing can change in between.
 */
export type Precondition = {
  /** The accepted ETags; undefined accepts any version. */
  readonly tags: readonly string[] | undefined;
  readonly mustBeAbsent: boolean;
};

type RequestHeaders = Readonly<Record<string, string>>;

export function readPrecondition(headers: RequestHeaders): Precondition {
  const match = headers["if-match"];
  const tags = match?.split(",").map((tag) => tag.trim());
  return { tags, mustBeAbsent: headers["if-none-match"]?.trim() === "*" };
}

/**
 * Throws if the target does not meet the conditions. `states` is empty for a missing target. If
 * callers with different permissions see different fields, `states` contains each version.
 */
export function requireCondition(
  { tags, mustBeAbsent }: Precondition,
  ...states: readonly JsonObject[]
): void {
  if (mustBeAbsent && states.length > 0) throw alreadyExists();
  if (tags === undefined || (tags.includes("*") && states.length > 0)) return;
  const own = new Set(states.map((state) => `"${hashValue(pickLasting(state))}"`));
  if (!tags.some((tag) => own.has(tag))) throw changedSince();
}
