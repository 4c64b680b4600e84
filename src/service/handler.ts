import type { AddressBudgetName } from "../contract/budgets.ts";
import type { Via } from "../contract/api-message.ts";
import type { Awaitable } from "../contract/awaitable.ts";
import type { Clock, Random, Waiter } from "../contract/clock.ts";
import type { Body, Endpoint, Output, Params, Query } from "../contract/endpoint.ts";
import type { AskedList } from "../contract/filters.ts";
import type { Served } from "../contract/index.ts";
import type { ClientHolder, KeyHolder } from "../store/keys.ts";
import type { Visit } from "../stats/visit.ts";
import type { Store } from "../store/store.ts";
import type { Tenant } from "../store/tables.ts";
import type { Budgets } from "./budgets.ts";
import type { Precondition } from "./precondition.ts";
import type { WaitInQueue } from "./template-queue.ts";

/** What every handler works with, for each call. */
export type Services = {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** Where links live now, with `{subdomain}` in it: the port may come to be another one. */
  readonly readLinkOrigin: () => string;
  /** A second origin of the same links, for the Open button of their pages alone. */
  readonly secondOrigin?: string | undefined;
  /**
   * Waits until the visits of a link, or of all links of a project, are in the store: the link
   * host counts them in memory first. Left out in a process without a link host.
   */
  readonly waitForClicks?: (projectId: string, linkId?: string) => Awaitable<void>;
  /** Counts the opens and installs that apps report. Left out as the one above. */
  readonly noteVisit?: ((visit: Visit) => void) | undefined;
  readonly waitInQueue: WaitInQueue;
  readonly budgets: Budgets;
  /** Notes whose key each request was made with. */
  readonly noteKeyUse?: ((keyId: string) => void) | undefined;
};

/** A project key with its project. */
type Caller = KeyHolder & { readonly project: NonNullable<KeyHolder["project"]> };

/** Only a project's key or an app's tells one caller from another. */
type CallerOf<Auth> = Auth extends "project" ? Caller : Auth extends "client" ? ClientHolder : null;

/** What a call has whatever its endpoint is. */
type CommonCall = {
  readonly services: Services;
  /** Where it comes from, unless a proxy that is not trusted hides it. */
  readonly address: string | undefined;
  /** Charges the caller's address for more than the endpoint's own budget. */
  readonly spend: (budget: AddressBudgetName) => Awaitable<void>;
  /** The `User-Agent` header; empty where there is none. */
  readonly agent: string;
  readonly precondition: Precondition;
  /** Its write lets others go first. */
  readonly isPatient: boolean;
  readonly via: Via | undefined;
  /** Adds a text to the `Warning` header of a successful answer. */
  readonly warn: (text: string) => void;
  /** Aborted when the client was answered that it took too long: nothing more may begin. */
  readonly signal: Waiter;
};

/** One request that passed every check that does not depend on its endpoint. */
type Call<E extends Endpoint> = CommonCall & {
  readonly caller: CallerOf<E["auth"]>;
  readonly params: Params<E>;
  readonly list: E["list"] extends object
    ? AskedList
    : E["selects"] extends object
      ? AskedList
      : null;
  readonly query: Query<E>;
  readonly body: Body<E>;
};

type Answer<E extends Endpoint> = {
  readonly body: Output<E>;
  /** Where the entry allows a second status. */
  readonly status?: number;
  /** Where the answer is a page. */
  readonly headers?: Readonly<Record<string, string>>;
};

type Handler<E extends Endpoint> = (call: Call<E>) => Awaitable<Answer<E>>;

/** A handler whose types the loop over the contract cannot follow. */
export type UntypedHandler = (
  call: CommonCall & Readonly<Record<"caller" | "params" | "list" | "query" | "body", unknown>>,
) => Awaitable<Omit<Answer<Endpoint>, "body"> & { readonly body: unknown }>;

/** A handler for every entry of a group: leaving one out does not compile. */
export type GroupHandlers<Group extends Record<string, Endpoint>> = {
  readonly [Name in keyof Group]: Handler<Group[Name]>;
};

export type Handlers = {
  readonly [Name in keyof Served]: GroupHandlers<Served[Name]>;
};

/** What a handler needs of a call to write in its project. */
export type WriteCall = Pick<
  CommonCall,
  "services" | "precondition" | "isPatient" | "via" | "warn"
> & {
  readonly caller: Caller;
  readonly signal: Pick<Waiter, "hasLeft">;
};

export function readTenant({ services, caller }: Pick<WriteCall, "services" | "caller">): Tenant {
  return { db: services.store.db, projectId: caller.project.id };
}

/** Runs `work` on the caller's project as one transaction. */
export function writeTenant<Result>(
  { services, caller, signal, isPatient }: WriteCall,
  work: (tenant: Tenant) => Promise<Result>,
): Promise<Result> {
  const options = { signal, isPatient };
  return services.store.write((db) => work({ db, projectId: caller.project.id }), options);
}
