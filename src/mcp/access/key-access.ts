import { findRefusal, hasScope, readCause, type KeyFacts } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import { messages } from "../../contract/messages.ts";
import { unauthorized } from "../../contract/problem.ts";
import type { Scope } from "../../contract/rights.ts";
import type { KnownTool, LearnedAccess } from "./remote-access.ts";
import { ToolFailure, explainEnd, type FailedCall } from "../results/tool-failure.ts";

/** Decides whether a key may use an endpoint, based on what Waypost has learned so far. */

/**
 * What Waypost knows about a key's access to an endpoint. `since` is the time of the server
 * response that revealed this state.
 */
export type AccessState =
  | { readonly state: "granted"; readonly since?: string }
  | {
      readonly state: "denied";
      readonly reason: string;
      /** Set if the operator's settings, not the server, deny access. */
      readonly isDeclared?: true;
      readonly since?: string;
    }
  /** `reason` is the last call's error message. Calls with other arguments may succeed. */
  | { readonly state: "unknown"; readonly reason?: string; readonly since?: string };

export type Access = {
  /** Returns `project` until a server response shows that the key is a master key. */
  readonly readKind: () => KeyFacts["kind"] | "none";
  readonly read: (endpoint: Endpoint) => AccessState;
  /** Whether a probe request could reveal more about the key's access to the endpoint. */
  readonly isWorthAsking: (endpoint: Endpoint) => boolean;
  /** Whether the key's access must be learned from a remote server's responses. */
  readonly canLearn: () => boolean;
  /** Records the key's properties as read from the embedded service. */
  readonly setFacts: (facts: KeyFacts) => void;
  /** Records that the embedded service rejects every call with the key. */
  readonly setRefusal: (reason: string) => void;
};

export type AccessOptions = {
  readonly hasKey: boolean;
  /**
   * The scopes set by the operator (WAYPOST_SCOPES). Access that needs any other scope is denied.
   */
  readonly scopes: readonly Scope[] | undefined;
  /** Whether Waypost sends probe requests to this list endpoint. */
  readonly isProbed: (list: Endpoint) => boolean;
  readonly facts: KeyFacts | undefined;
  readonly refusal?: string | undefined;
  readonly learned: LearnedAccess;
  readonly onChange: () => void;
};

/** Every valid project key can read the first list, and every master key the second. */
export const keyLists: readonly Endpoint[] = [contract.links.index, contract.projects.index];

export function createAccess({ hasKey, scopes, learned, ...options }: AccessOptions): Access {
  let { facts, refusal } = options;
  const lists = keyLists.filter(
    (list) => options.isProbed(list) && denyUndeclared(list, scopes) === undefined,
  );
  const canLearn = () => hasKey && facts === undefined && refusal === undefined;
  const isForOtherKind = ({ auth }: Endpoint) => {
    const kinds = learned.listKinds();
    return kinds.size === 1 && !kinds.has(auth);
  };

  function readLearned(endpoint: Endpoint): AccessState {
    const known = learned.find(endpoint);
    if (known?.state === "denied") return describe(known);
    if (isForOtherKind(endpoint)) return denyOtherKind(endpoint);
    if (known?.state === "granted") return describe(known);
    const implied = learned.findImplied(endpoint);
    if (implied !== undefined) return describe(implied);
    // Other servers usually lack Waypost's own endpoints, so these are denied until a call works.
    if (endpoint.ours) return { state: "denied", reason: messages.ours_alone };
    if (scopes !== undefined && endpoint.scope) return { state: "granted" };
    return known === undefined ? { state: "unknown" } : describe(known);
  }

  return {
    canLearn,
    readKind: () => {
      if (!hasKey) return "none";
      return facts?.kind ?? (learned.listKinds().has("master") ? "master" : "project");
    },
    read: (endpoint) => {
      if (endpoint.auth === "none") return { state: "granted" };
      if (!hasKey) return { state: "denied", reason: messages.key_missing };
      const invalid = refusal ?? (canLearn() ? findInvalid(lists, learned) : undefined);
      if (invalid !== undefined) return { state: "denied", reason: invalid };
      const undeclared = denyUndeclared(endpoint, scopes);
      if (undeclared !== undefined) return undeclared;
      if (facts === undefined) return readLearned(endpoint);
      const refused = findRefusal(endpoint, facts);
      return refused ? { state: "denied", reason: refused.message } : { state: "granted" };
    },
    isWorthAsking: (endpoint) => {
      if (denyUndeclared(endpoint, scopes) !== undefined) return false;
      // If the operator declares scopes, access to endpoints that need a scope is known without a
      // probe. Probes still check that the key is valid and that the server has Waypost's own
      // endpoints.
      const isSettled = scopes !== undefined && endpoint.scope && !endpoint.ours;
      return !(isSettled && !keyLists.includes(endpoint)) && !isForOtherKind(endpoint);
    },
    setFacts: (next) => {
      if (refusal === undefined && JSON.stringify(facts) === JSON.stringify(next)) return;
      facts = next;
      refusal = undefined;
      options.onChange();
    },
    setRefusal: (reason) => {
      if (refusal === reason) return;
      refusal = reason;
      options.onChange();
    },
  };
}

/** Returns the server's message if all of these endpoints rejected the key as invalid. */
function findInvalid(lists: readonly Endpoint[], learned: LearnedAccess): string | undefined {
  const reasons = lists.map((list) => {
    const known = learned.find(list);
    return known?.state === "open" ? (known.reason ?? "") : "";
  });
  return reasons.every((reason) => readCause(reason) === "key_invalid") ? reasons[0] : undefined;
}

function describe({ state, reason, at }: KnownTool): AccessState {
  const since = new Date(at).toISOString();
  if (state === "granted") return { state, since };
  if (state === "denied") return { state, reason: reason ?? "", since };
  return { state: "unknown", ...(reason !== null && { reason }), since };
}

function denyUndeclared(
  { scope, auth }: Endpoint,
  scopes: readonly Scope[] | undefined,
): AccessState | undefined {
  if (scopes === undefined) return undefined;
  // Only project keys have scopes, so declared scopes rule out a master key.
  if (auth === "master") return { state: "denied", reason: messages.master_required };
  if (scope === undefined || hasScope({ scopes }, scope)) return undefined;
  const reason = `The operator's WAYPOST_SCOPES excludes ${scope}.`;
  return { state: "denied", reason, isDeclared: true };
}

function denyOtherKind({ auth }: Endpoint): AccessState {
  const reason = auth === "master" ? messages.master_required : messages.project_key_required;
  return { state: "denied", reason };
}

type AccessRights = {
  readonly access: Access;
  readonly isActAllowed: (endpoint: Endpoint) => boolean;
};

/** Throws if the operator's WAYPOST_TOOLS excludes the endpoint's action. */
export function requireAct(endpoint: Endpoint, { isActAllowed }: AccessRights): void {
  if (isActAllowed(endpoint)) return;
  throw refuseUnchosen(endpoint.tool, ", and this call would do what that tool does");
}

export function refuseUnchosen(tool: string, more = ""): ToolFailure {
  return refuseSetting(
    `The operator's WAYPOST_TOOLS excludes ${tool}${more}.`,
    `Tell the user that this server's WAYPOST_TOOLS excludes ${tool}. Do not try another way.`,
  );
}

export function refuseWriting(tool: string): ToolFailure {
  return refuseSetting(
    `This server is read-only, and ${tool} makes or prepares changes.`,
    "Tell the user that WAYPOST_MODE is read-only here, so nothing can be changed.",
  );
}

/** Throws, without sending a request, if the key is known to lack the permission. */
export function requireRight(
  asked: Required<FailedCall>,
  { access }: Pick<AccessRights, "access">,
): void {
  const reading = access.read(asked.endpoint);
  if (reading.state === "denied") throw refuseDenied(asked, reading);
}

type DeniedState = AccessState & { readonly state: "denied" };

/** Returns the API's own error, or the error for a call that WAYPOST_SCOPES denies. */
export function refuseDenied(asked: FailedCall, { reason, isDeclared }: DeniedState): unknown {
  if (isDeclared !== true) return explainEnd(asked, unauthorized(reason));
  const next =
    "Tell the user that this server's WAYPOST_SCOPES excludes this scope. Do not try again.";
  return refuseSetting(reason, next);
}

function refuseSetting(message: string, next: string): ToolFailure {
  return new ToolFailure({ code: "scope_missing", message, effect: "none", retry: "never", next });
}
