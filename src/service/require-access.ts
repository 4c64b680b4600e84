import { findRefusal, hasScope, refuseScope, type KeyFacts } from "../contract/access.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { unauthorized } from "../contract/problem.ts";
import type { Scope } from "../contract/scopes-and-roles.ts";
import type { KeyHolder } from "../store/keys.ts";

/** Refuses what the contract says that a key may not do, each with its own 401. */

export function requireAccess(holder: KeyHolder, endpoint: Endpoint): void {
  const refusal = findRefusal(endpoint, describeKey(holder));
  if (refusal !== undefined) throw unauthorized(refusal.message);
}

/** The facts of a key on which the contract's rules of access depend. */
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

/** For what needs a second scope, depending on what an endpoint is called with. */
export function requireScope(holder: KeyHolder, scope: Scope): void {
  if (!hasScope(holder, scope)) throw unauthorized(refuseScope(scope).message);
}
