import type { z } from "zod";
import type { FilterFields, LinkSelection, ListInput } from "./filters.ts";
import type { JsonObject } from "./json.ts";
import type { AddressBudgetName, BudgetName } from "./limits.ts";
import type { Feature, PricingPlan, Role, Scope } from "./rights.ts";

/**
 * An endpoint of the API as data. The service's handlers, the typed client and the tools are
 * derived from it.
 */
export type Endpoint = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** The path after the API's version prefix. Its `:id` is always a UUID. */
  readonly path: `/${string}`;
  /** False if the API's specification lacks the path, so a remote server may not have it. */
  readonly documented?: false;
  /**
   * Only Waypost servers have the endpoint. For a remote server, assistants get no tool for it
   * until a call to it has succeeded.
   */
  readonly ours?: true;
  readonly tool: string;
  /** Only other parts of Waypost call the endpoint; assistants get no tool for it. */
  readonly hidden?: true;
  readonly title: string;
  readonly summary: string;

  /** Browsers may call the endpoint from any origin (CORS). */
  readonly cross_origin?: true;

  /** The required kind of key: a project's key, a master key, an app's client key, or none. */
  readonly auth: "project" | "master" | "client" | "none";
  readonly scope?: Scope;
  /** A second scope, required if the call would overwrite an existing record, as an upsert may. */
  readonly overwrite_scope?: Scope;
  /** A second scope, required if the call refers to a link. */
  readonly link_scope?: Scope;
  /** The minimum role of the key's owner. */
  readonly role?: Role;
  /** The required plan. `rights.ts` lists individual fields that require Pro. */
  readonly plan?: PricingPlan;
  /** The feature that must be enabled for the project. */
  readonly feature?: Feature;
  readonly budget?: BudgetName;
  /** The rate limit per client IP address, for calls without a secret key. */
  readonly address_budget?: AddressBudgetName;

  readonly params?: z.ZodObject;
  /** Set for lists: the response property with the rows, and the fields to filter and sort by. */
  readonly list?: {
    readonly name: string;
    readonly filters: FilterFields;
    /** Fields that only Waypost can filter by. Only lists with such fields support search. */
    readonly own?: FilterFields;
  };
  /** Query parameters of an endpoint that does not return a list. All values are strings. */
  readonly query?: z.ZodObject;
  /** The filters that select the links to which the call applies. */
  readonly selects?: { readonly filters: FilterFields; readonly own: FilterFields };
  readonly body?: z.ZodObject;
  /** Requests may omit both the body and the content type. */
  readonly body_optional?: true;
  /** The object around the body's fields, such as `ios_app`. Without it, the API returns 400. */
  readonly wrapper?: string;
  /** An optional object around the body's fields, as Rails clients send it. */
  readonly optional_wrapper?: string;
  /** Body parameters that the tool leaves out. */
  readonly not_in_tool?: readonly string[];
  /** Body parameters whose absence causes a 400 instead of a 422. */
  readonly required?: readonly string[];
  /** Body parameters whose absence causes a 422. Tools mark them as required. */
  readonly needed?: readonly string[];
  /**
   * Body parameters whose absence causes a 422 in Waypost, but perhaps not on other servers. Tools
   * treat them as optional.
   */
  readonly needed_here?: readonly string[];
  /** The endpoint can return 404 although it has neither an id in its path nor a `link_scope`. */
  readonly may_miss?: true;
  /** Only PATCH is accepted; other updates also accept PUT. */
  readonly patch_only?: true;
  /** The response property with the message of a 422, if it is not `error`. */
  readonly validation_key?: "errors";

  readonly success: { readonly status: 200 | 201 | 204; readonly also?: 201 };
  /** Set if the response is an HTML page instead of JSON. */
  readonly type?: "text/html";
  /** The response schema; null means an empty body. Unknown fields are allowed. */
  readonly response: z.ZodType | null;

  readonly effect: "read" | "write" | "destroy";
  readonly idempotent: boolean;
  readonly overwrites: boolean;
  /** Fields whose changes need a person's approval. */
  readonly approval_fields?: readonly string[];
};

/** Picks the input fields that belong in the request body. */
export function pickFields({ body }: Endpoint, input: JsonObject): JsonObject {
  const names = Object.keys(body?.shape ?? {}).filter((name) => input[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, input[name]]));
}

/** A PATCH endpoint also accepts PUT, and a GET endpoint also accepts HEAD. */
export function listMethods({ method }: Pick<Endpoint, "method">): readonly string[] {
  if (method === "PATCH") return ["PATCH", "PUT"];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** Returns the rate limit per IP address; undefined if a secret key identifies the caller. */
export function findAddressBudget(endpoint: Endpoint): AddressBudgetName | undefined {
  const { auth, address_budget = "keyless" } = endpoint;
  return auth === "none" || auth === "client" ? address_budget : undefined;
}

/** The only path parameter. Each path has at most one. */
export const idParameter = ":id";

export type Params<E extends Endpoint> = E["params"] extends z.ZodType
  ? z.output<E["params"]>
  : null;

export type Body<E extends Endpoint> = E["body"] extends z.ZodType ? z.output<E["body"]> : null;

export type Query<E extends Endpoint> = E["query"] extends z.ZodType ? z.output<E["query"]> : null;

/** The response as specified. The embedded service returns exactly this. */
export type Output<E extends Endpoint> = E["response"] extends z.ZodType
  ? z.output<E["response"]>
  : null;

/** The response as the client reads it from any server (see `client/send-once.ts`). */
export type CallAnswer<E extends Endpoint> = E["effect"] extends "read"
  ? ReceivedData<Output<E>>
  : // A write has succeeded once it was accepted, even if its response cannot be read.
    PartialData<Output<E>>;

/** A remote server's response: only a resource's id and a list's rows are guaranteed. */
export type ReceivedData<Whole> = Whole extends { readonly id: string }
  ? PartialData<Whole> & { readonly id: string }
  : Whole extends object
    ? { readonly [Name in keyof Whole]: ReceivedMember<Name, Whole[Name]> }
    : Whole;

type ReceivedMember<Name, Member> = Member extends readonly (infer Row)[]
  ? readonly ReceivedData<Row>[]
  : Name extends "meta"
    ? PartialData<Member>
    : Member;

/** Makes members optional, because a server may omit them or send invalid values. */
type PartialData<Whole> = Whole extends object
  ? { readonly [Name in keyof Whole]?: PartialMember<Name, Whole[Name]> }
  : Whole;

type PartialMember<Name, Member> =
  | (Member extends { readonly id: string } ? ReceivedData<Member> : Member)
  | (Name extends "id" ? undefined : null | undefined);

/**
 * A part of a server's response that could not be parsed. Stored apart from the response, so that
 * it never appears in results.
 */
export type UnreadPart = {
  /** The index of a dropped row on its page. The row had no usable id. */
  readonly row?: number;
  /** A field that was dropped because of its wrong type. */
  readonly field?: string;
  readonly message: string;
};

const unreadParts = new WeakMap<object, readonly UnreadPart[]>();

export function noteUnread<Body extends object>(body: Body, parts: readonly UnreadPart[]): Body {
  if (parts.length > 0) unreadParts.set(body, parts);
  return body;
}

export function listUnread(body: object): readonly UnreadPart[] {
  return unreadParts.get(body) ?? [];
}

export function listUnreadRows(body: object): readonly number[] {
  return listUnread(body).flatMap(({ row }) => row ?? []);
}

type EndpointPart<Schema> = Schema extends z.ZodType ? z.input<Schema> : unknown;

/** A caller's input as one flat object. Path, query and body parameters never share a name. */
export type Input<E extends Endpoint> = EndpointPart<E["params"]> &
  EndpointPart<E["body"]> &
  EndpointPart<E["query"]> &
  (E["selects"] extends object ? LinkSelection : unknown) &
  (E["list"] extends object ? ListInput : unknown) &
  // An endpoint that returns a page can adapt the page to the visitor's browser.
  (E["type"] extends string ? { readonly user_agent?: string } : unknown);

/** Default properties of endpoint definitions. A definition can override each of them. */
export const asRead = {
  method: "GET",
  success: { status: 200 },
  effect: "read",
  idempotent: true,
  overwrites: false,
} as const;

export const asCreate = {
  method: "POST",
  success: { status: 201 },
  effect: "write",
  idempotent: false,
  overwrites: false,
} as const;

export const asUpdate = {
  method: "PATCH",
  success: { status: 200 },
  effect: "write",
  idempotent: true,
  overwrites: true,
} as const;

export const asRestore = {
  method: "POST",
  documented: false,
  hidden: true,
  success: { status: 200 },
  effect: "write",
  // Restoring a record that is not deleted returns it unchanged.
  idempotent: true,
  overwrites: false,
} as const;

export const asDestroy = {
  method: "DELETE",
  success: { status: 204 },
  response: null,
  effect: "destroy",
  idempotent: true,
  overwrites: false,
} as const;
