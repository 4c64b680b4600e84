import { findRefusal, hasScope, readCause } from "../../contract/access.ts";
import type { Cause, KeyFacts } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { contract } from "../../contract/index.ts";
import { messages } from "../../contract/messages.ts";
import type { Scope } from "../../contract/scopes-and-roles.ts";
import { refusesAll } from "./denials.ts";
import {
  createLearnedAccess,
  type Learned,
  type LearnedAccess,
  type LearnedOptions,
} from "./learned-access.ts";

/** What a key may do, endpoint by endpoint, as far as it is known by now. */

/** `since` is when a deployment elsewhere said so. */
export type Reading =
  | { readonly state: "granted"; readonly since?: string }
  | {
      readonly state: "denied";
      readonly reason: string;
      /** The operator forbids it, and not the deployment. */
      readonly isDeclared?: true;
      readonly since?: string;
    }
  /** The reason is the last refusal, where other calls of the endpoint may succeed. */
  | { readonly state: "unknown"; readonly reason?: string; readonly since?: string };

export type Access = Pick<LearnedAccess, "recall" | "forgetDenials"> & {
  /** `project` until more is known of the key. */
  readonly readKind: () => KeyFacts["kind"] | "none";
  readonly read: (endpoint: Endpoint) => Reading;
  /** An answered call shows that the key may do this. */
  readonly noteAnswered: (endpoint: Endpoint) => void;
  /** So does a refusal of what was asked for, but not of which kind the key is. */
  readonly noteAccepted: (endpoint: Endpoint) => void;
  /**
   * A 401's message shows what the key may not do. Refused to a call that asked for nothing in
   * particular, a right is lacking to every call.
   */
  readonly noteRefused: (endpoint: Endpoint, message: string, isPlain?: boolean) => void;
  /** An answer that tells nothing, and would be the same the next time. */
  readonly noteSettled: (endpoint: Endpoint, reason: string) => void;
  /** Whether nothing is known of it yet; or, anew, whether an answer could tell anything. */
  readonly isWorthAsking: (endpoint: Endpoint, isAnew: boolean) => boolean;
  /** Takes over what the embedded service knows of the key. */
  readonly setFacts: (facts: KeyFacts) => void;
  /** Records that the embedded service now refuses every call with the key. */
  readonly setRefusal: (reason: string) => void;
  /** Whether the embedded service has told everything, so that nothing needs to be probed. */
  readonly hasFacts: () => boolean;
};

export type AccessOptions = LearnedOptions & {
  readonly hasKey: boolean;
  /** What the operator declares goes before all that is learned. */
  readonly scopes: readonly Scope[] | undefined;
  /** Whether this list is probed; a refusal of another one would never be checked again. */
  readonly isProbed: (list: Endpoint) => boolean;
  readonly facts: KeyFacts | undefined;
  /** Why the embedded service refuses every call with the key. */
  readonly refusal?: string | undefined;
};

/** A project's key may read the first, and a master key the second. */
const keyLists: readonly Endpoint[] = [contract.links.index, contract.projects.index];

export function createAccess({ hasKey, scopes, isProbed, ...options }: AccessOptions): Access {
  let { facts, refusal } = options;
  const learned = createLearnedAccess(options);
  const lists = keyLists.filter(
    (list) => isProbed(list) && denyUndeclared(list, scopes) === undefined,
  );
  return {
    recall: learned.recall,
    forgetDenials: learned.forgetDenials,
    ...noteIn(learned),
    readKind: () => {
      if (!hasKey) return "none";
      return facts?.kind ?? (learned.hasKind("master") ? "master" : "project");
    },
    hasFacts: () => facts !== undefined || refusal !== undefined,

    read: (endpoint) => {
      if (endpoint.auth === "none") return { state: "granted" };
      if (!hasKey) return { state: "denied", reason: messages.key_missing };
      const invalid = refusal ?? (facts === undefined ? learned.findRefusal(lists) : undefined);
      if (invalid !== undefined) return { state: "denied", reason: invalid };
      const undeclared = denyUndeclared(endpoint, scopes);
      if (undeclared !== undefined) return undeclared;
      if (facts !== undefined) return readFacts(endpoint, facts);
      const known = learned.find(endpoint);
      if (endpoint.ours) return readOurs(known ?? learned.findImplied(endpoint));
      if (known !== undefined && known.state !== "unknown") return describeLearned(known);
      if (learned.isOtherKind(endpoint)) return denyOtherKind(endpoint);
      const implied = learned.findImplied(endpoint);
      if (implied !== undefined) return describeLearned(implied);
      if (scopes !== undefined && endpoint.scope) return { state: "granted" };
      return known === undefined ? { state: "unknown" } : describeLearned(known);
    },

    isWorthAsking: (endpoint, isAnew) => {
      const isKnown = facts !== undefined || refusal !== undefined;
      if (!hasKey || isKnown || endpoint.auth === "none") return false;
      if (denyUndeclared(endpoint, scopes) !== undefined) return false;
      // Declared scopes settle what asks for one. They do not settle whether the deployment has
      // the endpoint at all, nor whether the key is valid, which one list shows.
      const isSettled = scopes !== undefined && endpoint.scope && !endpoint.ours;
      if (isSettled && !keyLists.includes(endpoint)) return false;
      if (learned.isOtherKind(endpoint)) return false;
      const known = learned.find(endpoint);
      if (known === undefined) return isAnew || learned.findImplied(endpoint) === undefined;
      return known.isOpen === true || (isAnew && known.state !== "unknown");
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

type Noting = Pick<Access, "noteAnswered" | "noteAccepted" | "noteRefused" | "noteSettled">;

function noteIn({ find, learn }: LearnedAccess): Noting {
  return {
    noteAnswered: (endpoint) => {
      if (endpoint.auth === "none") return;
      // A page, or what a write is answered with, may be anything: it shows no kind of key.
      const shows_kind = endpoint.effect === "read" && endpoint.type === undefined;
      learn(endpoint, { state: "granted", reason: null, shows_kind });
    },

    noteAccepted: (endpoint) => {
      learn(endpoint, { state: "granted", reason: null, shows_kind: false });
    },

    noteRefused: (endpoint, message, isPlain = false) => {
      const cause = readCause(message);
      const isLacking = rightsCauses.has(cause);
      const isDenied = isLacking && (isPlain || refusesAll(endpoint, cause, message));
      // One call that lacked a right says nothing against the tool.
      if (isLacking && !isDenied && find(endpoint)?.state === "granted") return;
      // A key that lacks one of these is a project's key: a master key needs none of them.
      const shows_kind = isLacking && endpoint.auth === "project";
      const state = isDenied ? "denied" : "unknown";
      learn(endpoint, { state, reason: message, shows_kind, isOpen: !isDenied });
    },

    noteSettled: (endpoint, reason) => {
      const known = find(endpoint);
      if (known !== undefined && known.state !== "unknown") return;
      learn(endpoint, { state: "unknown", reason, shows_kind: false });
    },
  };
}

/** The rights that a valid key may lack. */
const rightsCauses: ReadonlySet<Cause> = new Set([
  "scope_missing",
  "role_required",
  "plan_required",
]);

function describeLearned({ state, reason, at }: Learned): Reading {
  const since = new Date(at).toISOString();
  if (state === "granted") return { state, since };
  if (state === "denied") return { state, reason: reason ?? "", since };
  return { state, ...(reason !== null && { reason }), since };
}

/** Not every deployment has it: only one that has answered is known to. */
function readOurs(known: Learned | undefined): Reading {
  if (known === undefined || known.state === "unknown") {
    return { state: "denied", reason: messages.ours_alone };
  }
  return describeLearned(known);
}

function denyUndeclared(
  { scope, auth }: Endpoint,
  scopes: readonly Scope[] | undefined,
): Reading | undefined {
  if (scopes === undefined) return undefined;
  // Declared scopes mean that the key is a project's: a master key has none.
  if (auth === "master") return { state: "denied", reason: messages.master_required };
  if (scope === undefined || hasScope({ scopes }, scope)) return undefined;
  const reason = `The operator's WAYPOST_SCOPES excludes ${scope}.`;
  return { state: "denied", reason, isDeclared: true };
}

function readFacts(endpoint: Endpoint, facts: KeyFacts): Reading {
  const refusal = findRefusal(endpoint, facts);
  return refusal ? { state: "denied", reason: refusal.message } : { state: "granted" };
}

function denyOtherKind({ auth }: Endpoint): Reading {
  const reason = auth === "master" ? messages.master_required : messages.project_key_required;
  return { state: "denied", reason };
}
