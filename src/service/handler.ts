import type { Via } from "../contract/api-message.ts";
import type { Awaitable } from "../contract/waiting.ts";
import type { AddressBudgetName } from "../contract/limits.ts";
import type { Clock, Random, Waiter } from "../contract/clock.ts";
import { pickLasting } from "../contract/condition.ts";
import type { Body, Endpoint, Output, Params, Query } from "../contract/endpoint.ts";
import type { RequestedList } from "../contract/filters.ts";
import type { Served } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { alreadyExists, changedSince } from "../contract/problem.ts";
import type { CountedVisit } from "../stats/visit.ts";
import type { ClientKeyWithProject, KeyWithProject } from "../store/keys.ts";
import type { Store } from "../store/store.ts";
import type { Tenant } from "../store/tables.ts";
import { digestOf } from "../text/digest.ts";
import type { Budgets } from "./budgets.ts";
import type { WaitInQueue } from "../template/check-queue.ts";

/** The dependencies of every handler. A handler answers the calls of one endpoint. */
export type Services = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Returns the current link origin, with `{subdomain}`. Its port may change while the process
   * runs.
   */
  readonly readLinkOrigin: () => string;
  /** A second origin of the same links, only for the Open button of their preview pages. */
  readonly secondOrigin?: string | undefined;
  /**
   * Waits until the clicks of a link, or of all links of a project, are stored. The link host first
   * counts clicks in memory. Undefined in a process without a link host.
   */
  readonly waitForClicks?: (projectId: string, linkId?: string) => Awaitable<void>;
  /** Counts the opens and installs that apps report. Undefined in a process without a link host. */
  readonly noteVisit?: ((visit: CountedVisit) => void) | undefined;
  readonly waitInQueue: WaitInQueue;
  readonly budgets: Budgets;
  /** Records that a key was used. */
  readonly noteKeyUse?: ((keyId: string) => void) | undefined;
};

/** A project key with its project. */
type ProjectCaller = KeyWithProject & { readonly project: NonNullable<KeyWithProject["project"]> };

/** The caller that a handler gets: a project key, a client key, or null. */
type CallerOf<Auth> = Auth extends "project"
  ? ProjectCaller
  : Auth extends "client"
    ? ClientKeyWithProject
    : null;

/** The parts of a call that all endpoints have. */
type CommonCall = {
  readonly services: Services;
  /** The client's IP address. Undefined if an untrusted proxy hides it. */
  readonly address: string | undefined;
  /** Counts the call against another rate limit of the client's IP address. */
  readonly spend: (budget: AddressBudgetName) => Awaitable<void>;
  /** The `User-Agent` header, or an empty text. */
  readonly agent: string;
  readonly precondition: Precondition;
  /** True for background writes, which yield to other writes. */
  readonly isPatient: boolean;
  readonly via: Via | undefined;
  /** Adds a text to the `Warning` header of a successful response. */
  readonly warn: (text: string) => void;
  /** Shows whether the caller still waits. After a disconnect or a 503, no new work may start. */
  readonly signal: Waiter;
};

/** A request that passed every check that does not depend on its endpoint. */
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
  /** Set if the status differs from the endpoint's usual one. */
  readonly status?: number;
  /** Set if the response is a page. */
  readonly headers?: Readonly<Record<string, string>>;
};

type Handler<E extends Endpoint> = (call: HandlerCall<E>) => Awaitable<HandlerReply<E>>;

/** A handler without its types, which TypeScript cannot infer in the loop over all endpoints. */
export type UntypedHandler = (
  call: CommonCall & Readonly<Record<"caller" | "params" | "list" | "query" | "body", unknown>>,
) => Awaitable<Omit<HandlerReply<Endpoint>, "body"> & { readonly body: unknown }>;

/** A handler for every endpoint of a group. A missing handler is a compile error. */
export type GroupHandlers<Group extends Record<string, Endpoint>> = {
  readonly [Name in keyof Group]: Handler<Group[Name]>;
};

export type Handlers = {
  readonly [Name in keyof Served]: GroupHandlers<Served[Name]>;
};

/** The parts of a call that a write in a project needs. */
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

/** Waits for pending clicks of one link or all links, so that the response contains them. */
export function waitForClicks(
  { services, caller }: Omit<WriteCall, "signal">,
  linkId?: string,
): Awaitable<void> {
  return services.waitForClicks?.(caller.project.id, linkId);
}

/** Runs `work` on the caller's project in one transaction. */
export function writeTenant<Result>(
  { services, caller, signal, isPatient }: WriteCall,
  work: (tenant: Tenant) => Promise<Result>,
): Promise<Result> {
  const options = { signal, isPatient };
  return services.store.write((db) => work({ db, projectId: caller.project.id }), options);
}

/**
 * The conditions of a write: `If-None-Match: *`, or `If-Match` with the tag of the state that the
 * caller has read. The writing transaction checks them, so no change can happen in between.
 */
export type Precondition = {
  /** The accepted tags of the target; undefined accepts any state. */
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
 * Throws unless the target satisfies the conditions. `states` are the forms in which different
 * callers may have read the target; an absent target has none.
 */
export function requireCondition(
  { tags, mustBeAbsent }: Precondition,
  ...states: readonly JsonObject[]
): void {
  if (mustBeAbsent && states.length > 0) throw alreadyExists();
  if (tags === undefined || (tags.includes("*") && states.length > 0)) return;
  const own = new Set(states.map((state) => `"${digestOf(pickLasting(state))}"`));
  if (!tags.some((tag) => own.has(tag))) throw changedSince();
}
