import type { z } from "zod";
import type { FilterFields, LinkSelection, ListInput } from "./filters.ts";
import type { JsonObject } from "./json.ts";
import type { AddressBudgetName, BudgetName } from "./limits.ts";
import type { Feature, PricingPlan, Role, Scope } from "./rights.ts";

/**
 * One endpoint of the API as data. The service's handlers, the typed client and the tools derive
 * from these entries.
 */
export type Endpoint = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Follows the versioned prefix. The parameter `idParameter` is always a UUID. */
  readonly path: `/${string}`;
  /**
   * False if the API's specification does not give the path, so a remote server may not have it.
   */
  readonly documented?: false;
  /**
   * Only Waypost has the endpoint. With a remote server, its tool appears after a successful call.
   */
  readonly ours?: true;
  readonly tool: string;
  /** The endpoint has no tool of its own; other parts of Waypost call it. */
  readonly hidden?: true;
  readonly title: string;
  readonly summary: string;

  /** Pages of other sites may call it from a browser. */
  readonly cross_origin?: true;

  /**
   * The kind of key that it needs: a project's key, the master key, an app's client key, or none.
   */
  readonly auth: "project" | "master" | "client" | "none";
  readonly scope?: Scope;
  /** Also required if the call would replace something that exists, as an upsert may. */
  readonly overwrite_scope?: Scope;
  /** Also required if the call names a link. */
  readonly link_scope?: Scope;
  /** The lowest role that the key's owner must have. */
  readonly role?: Role;
  /** The plan that every call needs. Single Pro fields are in `rights.ts`. */
  readonly plan?: PricingPlan;
  /** The feature that must be switched on for the project. */
  readonly feature?: Feature;
  readonly budget?: BudgetName;
  /** The rate limit per client address, for calls without a secret key. */
  readonly address_budget?: AddressBudgetName;

  readonly params?: z.ZodObject;
  /**
   * Set on lists: the member of the response with the rows, and the fields to filter and sort by.
   */
  readonly list?: {
    readonly name: string;
    readonly filters: FilterFields;
    /** Fields that only Waypost filters by. A list that has them can also be searched. */
    readonly own?: FilterFields;
  };
  /** Query parameters of an endpoint that is not a list, as texts. */
  readonly query?: z.ZodObject;
  /** The filters by which the call selects links, as in a list. */
  readonly selects?: { readonly filters: FilterFields; readonly own: FilterFields };
  readonly body?: z.ZodObject;
  /** A request without a body is valid, and then needs no content type. */
  readonly body_optional?: true;
  /** The object around the body's fields, such as `ios_app`. A request without it gets a 400. */
  readonly wrapper?: string;
  /** An object that may surround the fields, as clients of Rails APIs send it. */
  readonly optional_wrapper?: string;
  /** Body parameters that the tool does not offer. */
  readonly not_in_tool?: readonly string[];
  /** Body parameters that cause a 400 if they are missing, and not a 422. */
  readonly required?: readonly string[];
  /** Body parameters that cause a 422 if they are missing. Tools mark them as required. */
  readonly needed?: readonly string[];
  /**
   * Like `needed`, but only Waypost is known to require these parameters. Tools do not mark them as
   * required.
   */
  readonly needed_here?: readonly string[];
  /** A 404 is possible even without an id in the path and a `link_scope`. */
  readonly may_miss?: true;
  /** The API has only PATCH here; other updates also accept PUT. */
  readonly patch_only?: true;
  /** The member with the message of a 422, if it is not `error`. */
  readonly validation_key?: "errors";

  readonly success: { readonly status: 200 | 201 | 204; readonly also?: 201 };
  /** Set if the response is a page and not JSON. */
  readonly type?: "text/html";
  /** The shape of the response; null means an empty body. Unknown fields are allowed. */
  readonly response: z.ZodType | null;

  readonly effect: "read" | "write" | "destroy";
  /** Repeating the same call has no further effect. */
  readonly idempotent: boolean;
  /** Replaces existing values. */
  readonly overwrites: boolean;
  /** Fields whose change a person must approve. */
  readonly approval_fields?: readonly string[];
};

/** The fields of an input that belong in the body. */
export function pickFields({ body }: Endpoint, input: JsonObject): JsonObject {
  const names = Object.keys(body?.shape ?? {}).filter((name) => input[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, input[name]]));
}

/** PUT is accepted for PATCH, and HEAD for GET. */
export function listMethods({ method }: Pick<Endpoint, "method">): readonly string[] {
  if (method === "PATCH") return ["PATCH", "PUT"];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** The rate limit per client address; undefined if a secret key identifies the caller. */
export function findAddressBudget(endpoint: Endpoint): AddressBudgetName | undefined {
  const { auth, address_budget = "keyless" } = endpoint;
  return auth === "none" || auth === "client" ? address_budget : undefined;
}

/** The only path parameter. A path has it at most once. */
export const idParameter = ":id";

export type Params<E extends Endpoint> = E["params"] extends z.ZodType
  ? z.output<E["params"]>
  : null;

export type Body<E extends Endpoint> = E["body"] extends z.ZodType ? z.output<E["body"]> : null;

export type Query<E extends Endpoint> = E["query"] extends z.ZodType ? z.output<E["query"]> : null;

/** The response as the specification describes it, which Waypost returns exactly. */
export type Output<E extends Endpoint> = E["response"] extends z.ZodType
  ? z.output<E["response"]>
  : null;

/** The response as the client reads it from any server (see `client/send-once.ts`). */
export type CallAnswer<E extends Endpoint> = E["effect"] extends "read"
  ? Read<Output<E>>
  : // A write has succeeded once it was accepted, even if its response cannot be read.
    Maybe<Output<E>>;

/** Only the id of a remote server's resource is guaranteed, and only the rows of its list. */
export type Read<Whole> = Whole extends { readonly id: string }
  ? Maybe<Whole> & { readonly id: string }
  : Whole extends object
    ? { readonly [Name in keyof Whole]: ReadMember<Name, Whole[Name]> }
    : Whole;

type ReadMember<Name, Member> = Member extends readonly (infer Row)[]
  ? readonly Read<Row>[]
  : Name extends "meta"
    ? Maybe<Member>
    : Member;

/** Members may be missing because a server omitted them or they could not be read. */
type Maybe<Whole> = Whole extends object
  ? { readonly [Name in keyof Whole]?: MaybeMember<Name, Whole[Name]> }
  : Whole;

type MaybeMember<Name, Member> =
  | (Member extends { readonly id: string } ? Read<Member> : Member)
  | (Name extends "id" ? undefined : null | undefined);

type EndpointPart<Schema> = Schema extends z.ZodType ? z.input<Schema> : unknown;

/** A caller's input as one flat object. Params, query and body never share a name. */
export type Input<E extends Endpoint> = EndpointPart<E["params"]> &
  EndpointPart<E["body"]> &
  EndpointPart<E["query"]> &
  (E["selects"] extends object ? LinkSelection : unknown) &
  (E["list"] extends object ? ListInput : unknown) &
  // The page can depend on the visitor's browser.
  (E["type"] extends string ? { readonly user_agent?: string } : unknown);

/**
 * The fields that endpoints of one kind share. An entry spreads one of these objects and then
 * overrides single fields.
 */
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

/** Restoring is an endpoint that only Waypost is known to have. */
export const asRestore = {
  method: "POST",
  documented: false,
  hidden: true,
  success: { status: 200 },
  effect: "write",
  // Restoring something that was not deleted returns it unchanged.
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
