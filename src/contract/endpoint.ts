import type { z } from "zod";
import type { AddressBudgetName, BudgetName } from "./budgets.ts";
import type { FilterFields, LinkSelection, ListInput } from "./filters.ts";
import type { JsonObject } from "./json.ts";
import type { Feature, PricingPlan } from "./pricing-plans.ts";
import type { Role, Scope } from "./scopes-and-roles.ts";

/**
 * One endpoint of the API, as data. The service's handler table, the typed client and the tools
 * all derive from these entries, so what is written here is written nowhere else.
 */
export type Endpoint = {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below the versioned prefix; `idParameter` in it is always the UUID. */
  readonly path: `/${string}`;
  /** False where the path is our guess, so that another deployment may not have it. */
  readonly documented?: false;
  /** The specification does not have it: elsewhere its tool is there once it has answered. */
  readonly ours?: true;
  readonly tool: string;
  /** It has no tool of its own: the tool `undo` asks it. Its name is for the client alone. */
  readonly hidden?: true;
  readonly title: string;
  readonly summary: string;

  /** Pages of other sites may ask it from a visitor's browser. */
  readonly cross_origin?: true;

  /** Which kind of key answers: a project's, the master key, an app's, or none at all. */
  readonly auth: "project" | "master" | "client" | "none";
  readonly scope?: Scope;
  /** Asked for as well when the call would replace something that exists (upsert). */
  readonly overwrite_scope?: Scope;
  /** Asked for as well when the call names a link. */
  readonly link_scope?: Scope;
  /** The least role that the key's owner must have. */
  readonly role?: Role;
  /** A plan that the endpoint always demands; single Pro fields are in `pricing-plans.ts`. */
  readonly plan?: PricingPlan;
  /** What must be switched on for the project. */
  readonly feature?: Feature;
  readonly budget?: BudgetName;
  /** What an address has for it, where no key tells who asks: without a key, or with an app's. */
  readonly address_budget?: AddressBudgetName;

  readonly params?: z.ZodObject;
  /** Present on lists: the named array of the envelope, and the fields that filter and sort. */
  readonly list?: {
    readonly name: string;
    readonly filters: FilterFields;
    /** The fields that only our own service filters by; where there are some, it searches too. */
    readonly own?: FilterFields;
  };
  /** Parameters of the query of what is no list, as texts. */
  readonly query?: z.ZodObject;
  /** The fields by which it chooses what it is about, as a list's. */
  readonly selects?: { readonly filters: FilterFields; readonly own: FilterFields };
  readonly body?: z.ZodObject;
  /** A request may come without any body, and then needs no content type. */
  readonly body_optional?: true;
  /** The object in which the body's fields travel, `ios_app` say. Its absence is a 400. */
  readonly wrapper?: string;
  /** An object in which the fields may travel as well, as clients of such an API send them. */
  readonly optional_wrapper?: string;
  /** Body parameters that its tool does not take. */
  readonly untold?: readonly string[];
  /** Body parameters whose absence is a 400 and not a validation problem. */
  readonly required?: readonly string[];
  /** Body parameters whose absence is a 422: tools declare them, and leave the check to the API. */
  readonly needed?: readonly string[];
  /** The same where only our own service is known to demand them: tools do not declare them. */
  readonly needed_here?: readonly string[];
  /** A 404 is possible, though neither an id in the path nor a `link_scope` says so. */
  readonly may_miss?: true;
  /** The specification has PATCH for this endpoint, but no PUT. */
  readonly patch_only?: true;
  /** Where a 422's sentence stands (api-spec.md, "Errors"). */
  readonly validation_key?: "errors";

  readonly success: { readonly status: 200 | 201 | 204; readonly also?: 201 };
  /** Set where the response is not JSON but the text of a page. */
  readonly type?: "text/html";
  /** What comes back; null is an empty body. Extra fields are tolerated. */
  readonly response: z.ZodType | null;

  readonly effect: "read" | "write" | "destroy";
  /** Repeating the same call changes nothing more. */
  readonly idempotent: boolean;
  /** Replaces values that were there before. */
  readonly overwrites: boolean;
  /** Fields whose change a person has to approve. */
  readonly approval_fields?: readonly string[];
};

/** The fields of an input that travel in the body. */
export function pickFields({ body }: Endpoint, input: JsonObject): JsonObject {
  const names = Object.keys(body?.shape ?? {}).filter((name) => input[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, input[name]]));
}

/** The methods that ask for the same: PUT is accepted as PATCH, and HEAD as GET without a body. */
export function listMethods({ method }: Pick<Endpoint, "method">): readonly string[] {
  if (method === "PATCH") return ["PATCH", "PUT"];
  return method === "GET" ? ["GET", "HEAD"] : [method];
}

/** What the caller's address has for it; undefined where a secret key identifies the caller. */
export function findAddressBudget(endpoint: Endpoint): AddressBudgetName | undefined {
  const { auth, address_budget = "keyless" } = endpoint;
  return auth === "none" || auth === "client" ? address_budget : undefined;
}

/** The only parameter that a path may have, in one place at most. */
export const idParameter = ":id";

export type Params<E extends Endpoint> = E["params"] extends z.ZodType
  ? z.output<E["params"]>
  : null;

export type Body<E extends Endpoint> = E["body"] extends z.ZodType ? z.output<E["body"]> : null;

export type Query<E extends Endpoint> = E["query"] extends z.ZodType ? z.output<E["query"]> : null;

/** What the specification says that comes back; our own service answers exactly that. */
export type Output<E extends Endpoint> = E["response"] extends z.ZodType
  ? z.output<E["response"]>
  : null;

/** What is read of an answer, whichever deployment gave it (client/read-answer.ts). */
export type Answer<E extends Endpoint> = E["effect"] extends "read"
  ? Read<Output<E>>
  : // A write is done once it was accepted, also where nothing can be read of its answer.
    Maybe<Output<E>>;

/** Of a resource only the id is sure; of a list its rows, and something of its `meta`. */
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

/** A member that is not there may be anything: it was not shown, or could not be read. */
type Maybe<Whole> = Whole extends object
  ? { readonly [Name in keyof Whole]?: MaybeMember<Name, Whole[Name]> }
  : Whole;

type MaybeMember<Name, Member> =
  | (Member extends { readonly id: string } ? Read<Member> : Member)
  | (Name extends "id" ? undefined : null | undefined);

type Part<Schema> = Schema extends z.ZodType ? z.input<Schema> : unknown;

/** What a caller gives, flat: an endpoint's params, query and body never share a name. */
export type Input<E extends Endpoint> = Part<E["params"]> &
  Part<E["body"]> &
  Part<E["query"]> &
  (E["selects"] extends object ? LinkSelection : unknown) &
  (E["list"] extends object ? ListInput : unknown) &
  // A page may be another one for another browser.
  (E["type"] extends string ? { readonly user_agent?: string } : unknown);
