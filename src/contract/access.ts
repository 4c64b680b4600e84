import type { Endpoint } from "./endpoint.ts";
import { messages } from "./messages.ts";
import { roles, scopes, type Feature, type PricingPlan, type Role, type Scope } from "./rights.ts";
import { readAnswer } from "./server-answer.ts";

/** Describes what Waypost knows about a key, and decides which endpoints the key may call. */

export type KeyFacts = {
  readonly kind: "project" | "master";
  /** An empty list means full access. */
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly plan: PricingPlan;
  readonly suspended: boolean;
  /** Features that the operator has switched off for the project. */
  readonly features_off?: readonly Feature[];
};

/** What is known about a key without calling the API. */
export type KnownKey = {
  /** Undefined for a key of a remote server. */
  readonly facts: KeyFacts | undefined;
  /** Why the embedded service rejects every call with this key. Undefined if it accepts calls. */
  readonly refusal?: string;
  /** The id that `waypost keys list` shows; undefined for a key of a remote server. */
  readonly keyId?: string;
  /** Undefined for a master key, and for every key of a remote server. */
  readonly projectId?: string;
  readonly projectName?: string;
  /** The origin of the project's links, such as `https://spring.links.example`. */
  readonly linkHost: string | undefined;
  /**
   * Other origins that serve the same links, such as the subdomain of a project with a custom
   * domain.
   */
  readonly otherLinkHosts?: readonly string[];
  /** Whether the operator configured a second link origin. */
  readonly hasSecondHost: boolean;
  /** How many days a deletion can be undone; undefined if it cannot be undone. */
  readonly binDays?: number;
  /** Whether Google Play's referrer contains the link's URL. Undefined for a remote server. */
  readonly linkInReferrer?: boolean;
  /** Whether the App Store button copies the link's URL. Undefined for a remote server. */
  readonly clipboard?: boolean;
  /** The maximum number of links on the Free plan; undefined means no limit. */
  readonly linkLimit?: number;
  /** The allowed destination hosts; undefined allows every host. */
  readonly destinations?: readonly string[] | undefined;
};

export function listLinkHosts({
  linkHost,
  otherLinkHosts = [],
}: Pick<KnownKey, "linkHost" | "otherLinkHosts">): readonly string[] {
  return linkHost === undefined ? [] : [linkHost, ...otherLinkHosts];
}

export type Refusal = { readonly cause: Cause; readonly message: string };

/**
 * Returns why a key may not call an endpoint, or undefined if it may. Checks in this order:
 * suspended account, kind of key, scope, role, plan, disabled feature.
 */
export function findRefusal(endpoint: Endpoint, key: KeyFacts): Refusal | undefined {
  const { auth, scope, role, plan, feature } = endpoint;
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
  if (feature !== undefined && key.features_off?.includes(feature) === true) {
    return { cause: "unauthorized", message: messages.templates_off };
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

/** The causes of a 401 response. Only the message distinguishes them. */
export type Cause =
  | "key_missing"
  | "key_invalid"
  | "account_suspended"
  | "scope_missing"
  | "role_required"
  | "plan_required"
  | "unauthorized";

/** Matches the message of a 401 against patterns, because the API does not specify its wording. */
export function readCause(message: string): Cause {
  const words = readAnswer(message);
  const [cause] = causes.find(([, pattern]) => pattern.test(words)) ?? ["unauthorized"];
  return cause;
}

/**
 * Lists the scopes in a message. Only whole words match: `short_links.create` does not contain
 * `links.create`.
 */
export function listNamedScopes(message: string): readonly Scope[] {
  const words: ReadonlySet<string> = new Set(readAnswer(message).match(/\w+\.\w+/g));
  return scopes.filter((scope) => words.has(scope));
}

const keyWords = "keys?|tokens?|credentials";
const missingWords = "missing|required|absent|not (?:given|provided|sent|supplied|present|set)";
const invalidWords =
  "invalid|not valid|unknown|not known|unrecognized|not recognized|revoked|expired|wrong|" +
  "incorrect|bad|malformed|disabled|deactivated|deleted|inactive|not found|does not exist";
const permissionWords = "permissions?|permitted|allowed|authorized|privileges?|access to";

/**
 * The first matching pattern wins. Messages about a key's permission mean a missing scope. Messages
 * about a person's permission mean a missing role.
 */
const causes: readonly (readonly [Cause, RegExp])[] = [
  [
    "account_suspended",
    /suspend|\baccount\b.*\b(disabled|(de|in)activ|locked|blocked|closed|hold)/i,
  ],
  ["scope_missing", /scope|\b[a-z_]+\.(index|show|create|update|destroy|publish)\b/i],
  [
    "plan_required",
    /\b(plans?|upgrade|subscription|trial|pro|paid|premium|limit|quota)\b|free tier/i,
  ],
  ["key_invalid", matchAny(`\\b(${keyWords})\\b[^.]*\\b(${invalidWords})\\b`, "master")],
  ["key_invalid", matchAny(`\\b(${invalidWords})\\b[^.]*\\b(${keyWords})\\b`)],
  [
    "key_missing",
    matchAny(`\\b(${keyWords})\\b (is |was )?(${missingWords})\\b(?! (required|permi))`),
  ],
  ["role_required", /\b(roles?|managers?|owners?|viewers?|admin\w*|members?)\b/i],
  ["scope_missing", matchAny(`\\b(${keyWords})\\b[^.]*\\b(${permissionWords})\\b`)],
  ["role_required", matchAny("permission", `not (${permissionWords}) to\\b`)],
  [
    "key_missing",
    matchAny(`\\b(${missingWords})\\b`, `\\bno (api )?(${keyWords})`, "sign in", "log in"),
  ],
];

function matchAny(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join("|"), "i");
}
