import { hasRole, listNamedScopes, type Cause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { readAnswer } from "../../contract/server-answer.ts";

/** How far a refusal goes: for its endpoint's other calls, and for what demands the same. */

/** A denial that was learned, and why. */
type Denial = { readonly endpoint: Endpoint; readonly cause: Cause };

/**
 * Whether every call of the endpoint will be refused like this. A missing scope counts if it is the
 * endpoint's own: another one was needed for what this one call did besides. A role or a plan
 * counts if the entry always demands one: a Pro field must not hide `create_link`. A role that is
 * missing for an app says nothing about links that register no app.
 */
export function refusesAll(endpoint: Endpoint, cause: Cause, message: string): boolean {
  const { scope, role, plan } = endpoint;
  switch (cause) {
    case "scope_missing": {
      const named = listNamedScopes(message);
      return named.length === 0 || named.some((name) => name === scope);
    }
    case "role_required":
      return (
        role !== undefined && !(writesLinks(endpoint) && /\bapps?\b/i.test(readAnswer(message)))
      );
    case "plan_required":
      return plan !== undefined;
    default:
      return false;
  }
}

/**
 * Finds the denial that takes this endpoint along. Where one that demands the same is granted, the
 * deployment demands something else than the contract says, and nothing follows.
 */
export function findImplied<Found extends Denial>(
  endpoint: Endpoint,
  denials: readonly Found[],
  granted: readonly Endpoint[],
): Found | undefined {
  return denials.find((denial) => {
    const demands = describeDemand(denial);
    return demands?.(endpoint) === true && !granted.some(demands);
  });
}

function describeDemand({ endpoint, cause }: Denial): ((other: Endpoint) => boolean) | undefined {
  const { scope, role, plan } = endpoint;
  if (cause === "scope_missing" && hasKnownScope(endpoint)) {
    return (other) => other.scope === scope && hasKnownScope(other);
  }
  if (cause === "role_required" && role !== undefined) {
    return (other) => {
      if (other.role === undefined || !hasRole({ role: other.role }, role)) return false;
      return writesLinks(endpoint) || !writesLinks(other);
    };
  }
  if (cause === "plan_required" && plan !== undefined) return (other) => other.plan === plan;
  return undefined;
}

/** The specification names no scope of upsert's own (links.ts): elsewhere it may be another. */
function hasKnownScope({ scope, overwrite_scope }: Endpoint): boolean {
  return scope !== undefined && overwrite_scope === undefined;
}

/**
 * Remote servers may ask for no role here, as the specification names none. A role that is missing
 * for apps or templates therefore does not hide these.
 */
function writesLinks({ role, path }: Endpoint): boolean {
  return role !== undefined && /^\/(short_)?links\b/.test(path);
}
