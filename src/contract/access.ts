import type { Endpoint } from "./endpoint.ts";
import { messages } from "./messages.ts";
import { roles, type Plan, type Role, type Scope } from "./policy.ts";

/** What a key may do, and how its refusals are told apart: api-spec.md, "Authentication". */

/** A key, as far as it decides what may be called with it. */
export type KeyFacts = {
  readonly kind: "project" | "master";
  /** None selected is full access. */
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly plan: Plan;
  readonly suspended: boolean;
};

/** Why a 401 was given. The API answers one status for all of them; only its words differ. */
export type Cause =
  | "key_missing"
  | "key_invalid"
  | "account_suspended"
  | "scope_missing"
  | "role_required"
  | "plan_required"
  | "unauthorized";

export type Refusal = { readonly cause: Cause; readonly message: string };

/**
 * Why this key may never call this endpoint, or undefined. The order is the API's: a suspended
 * account is told of first, then the kind of key, its scopes, the role and the plan.
 */
export function findRefusal(endpoint: Endpoint, key: KeyFacts): Refusal | undefined {
  const { auth, scope, role, plan } = endpoint;
  if (auth === "none") return undefined;
  if (key.suspended) return { cause: "account_suspended", message: messages.account_suspended };
  if (key.kind !== auth) {
    const isMaster = key.kind === "master";
    const message = isMaster ? messages.project_key_required : messages.master_required;
    return { cause: "key_invalid", message };
  }
  if (scope !== undefined && !hasScope(key, scope)) return refuseScope(scope);
  if (role !== undefined && !hasRole(key, role)) {
    return { cause: "role_required", message: messages.role_required(role) };
  }
  if (plan === "pro" && key.plan !== "pro") {
    return { cause: "plan_required", message: messages.plan_required };
  }
  return undefined;
}

export function refuseScope(scope: Scope): Refusal {
  return { cause: "scope_missing", message: messages.scope_missing(scope) };
}

export function hasScope({ scopes }: Pick<KeyFacts, "scopes">, scope: Scope): boolean {
  return scopes.length === 0 || scopes.includes(scope);
}

export function hasRole(key: Pick<KeyFacts, "role">, role: Role): boolean {
  return roles.indexOf(key.role) >= roles.indexOf(role);
}

/**
 * The cause of a 401 from any deployment. The spec promises that the message says which it is,
 * and not its words, so they are looked at and never compared whole.
 */
export function readCause(message: string): Cause {
  const [cause] = causes.find(([, pattern]) => pattern.test(message)) ?? ["unauthorized"];
  return cause;
}

const causes: readonly (readonly [Cause, RegExp])[] = [
  ["account_suspended", /suspend/i],
  ["scope_missing", /scope/i],
  ["plan_required", /\b(plans?|upgrade|pro)\b|free tier|limit/i],
  ["role_required", /\b(roles?|manager|owner|viewer)\b|not (allowed|permitted)|permission/i],
  ["key_missing", /missing|no (api )?key|required/i],
  ["key_invalid", /invalid|unknown|revoked|expired|wrong|master/i],
];
