import type { Endpoint } from "../contract/endpoint.ts";
import { messages } from "../contract/messages.ts";
import { roles, type Role, type Scope } from "../contract/policy.ts";
import { unauthorized } from "../contract/problem.ts";
import type { KeyHolder } from "../store/keys.ts";

/** What a known key may do. One function for each cause of a 401, in the order they are asked. */

/** A project key with its project: whoever calls an endpoint of a project. */
export type Caller = KeyHolder & {
  readonly project: NonNullable<KeyHolder["project"]>;
};

export function requireKind(holder: KeyHolder, endpoint: Endpoint): void {
  const isMaster = holder.project === null;
  if (isMaster === (endpoint.auth === "master")) return;
  throw unauthorized(isMaster ? messages.project_key_required : messages.master_required);
}

export function requireActive(holder: KeyHolder): void {
  if (holder.project?.suspended === true) throw unauthorized(messages.account_suspended);
}

/** A key with no scopes has full access. */
export function requireScope(holder: KeyHolder, scope: Scope | undefined): void {
  if (scope === undefined || holder.scopes.length === 0) return;
  if (!holder.scopes.includes(scope)) throw unauthorized(messages.scope_missing(scope));
}

export function requireRole(holder: KeyHolder, role: Role | undefined): void {
  if (role !== undefined && !hasRole(holder, role)) {
    throw unauthorized(messages.role_required(role));
  }
}

export function hasRole(holder: KeyHolder, role: Role): boolean {
  return roles.indexOf(holder.role) >= roles.indexOf(role);
}

export function requirePlan(holder: KeyHolder, endpoint: Endpoint): void {
  if (endpoint.plan === "pro" && holder.project?.plan !== "pro") {
    throw unauthorized(messages.plan_required);
  }
}
