import { findRefusal, hasScope, refuseScope, type KeyFacts } from "../contract/access.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { unauthorized } from "../contract/problem.ts";
import type { Scope } from "../contract/scopes-and-roles.ts";
import type { KeyHolder } from "../store/keys.ts";

/** Rejects calls that a key may not make. Each reason has its own 401 message. */

export function requireAccess(holder: KeyHolder, endpoint: Endpoint): void {
  const refusal = findRefusal(endpoint, describeKey(holder));
  if (refusal !== undefined) throw unauthorized(refusal.message);
}

/** Returns the properties of a key that the contract's access rules need. */
export function describeKey({ project, scopes, role }: KeyHolder): KeyFacts {
  return {
    kind: project === null ? "master" : "project",
    scopes,
    role,
    plan: project?.plan ?? "pro",
    suspended: project?.suspended === true,
    features_off: project?.templates_enabled === false ? ["page_templates"] : [],
  };
}

/** Requires a second scope, for calls whose content needs one. */
export function requireScope(holder: KeyHolder, scope: Scope): void {
  if (!hasScope(holder, scope)) throw unauthorized(refuseScope(scope).message);
}
