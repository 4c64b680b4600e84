import type { Endpoint } from "./endpoint.ts";
import { messages } from "./messages.ts";
import type { Feature, PricingPlan } from "./pricing-plans.ts";
import { roles, scopes, type Role, type Scope } from "./scopes-and-roles.ts";
import { readAnswer } from "./server-answer.ts";

/** What a key may do, and what causes a refusal: api-spec.md, "Authentication". */

/** The facts of a key that decide what may be called with it. */
export type KeyFacts = {
  readonly kind: "project" | "master";
  /** None selected is full access. */
  readonly scopes: readonly Scope[];
  readonly role: Role;
  readonly plan: PricingPlan;
  readonly suspended: boolean;
  /** What is switched off for the project. */
  readonly features_off?: readonly Feature[];
};

/** What is known of a key without asking the API. */
export type KnownKey = {
  /** Undefined where a deployment elsewhere keeps the key. */
  readonly facts: KeyFacts | undefined;
  /** Why the embedded service refuses every call with this key. */
  readonly refusal?: string;
  /** As `waypost keys list` shows it; left out where a deployment elsewhere keeps the key. */
  readonly keyId?: string;
  /** Left out for a master key, and where a deployment elsewhere keeps the key. */
  readonly projectId?: string;
  readonly projectName?: string;
  /** Where the links of the key's project live: `https://spring.links.example`. */
  readonly linkHost: string | undefined;
  /** Other hosts that serve them too: the subdomain beside a domain of its own, a second host. */
  readonly otherLinkHosts?: readonly string[];
  /** Whether the Open button of a link's page leads by a second host name. */
  readonly hasSecondHost: boolean;
  /** For so many days what is deleted can be brought back; left out where nothing can. */
  readonly binDays?: number;
  /** The project's setting (link-services.md §3); a deployment elsewhere does not tell it. */
  readonly linkInReferrer?: boolean;
  /** Likewise: whether the App Store button hands the address over by the clipboard. */
  readonly clipboard?: boolean;
  /** How many links the project may have on the Free plan; undefined means no limit. */
  readonly linkLimit?: number;
  /** The hosts that the project's links may lead to; undefined is any. */
  readonly destinations?: readonly string[] | undefined;
};

/** Where the links of this key's project live, as far as that is known. */
export function listLinkHosts({
  linkHost,
  otherLinkHosts = [],
}: Pick<KnownKey, "linkHost" | "otherLinkHosts">): readonly string[] {
  return linkHost === undefined ? [] : [linkHost, ...otherLinkHosts];
}

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
 * Why this key may not call this endpoint, or undefined. The order is the API's: a suspended
 * account first, then the kind of key, its scopes, the role, the plan, and what is switched off.
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

/**
 * The cause of a 401 from any deployment. The spec promises that the message says which it is, but
 * not in which words, so patterns are searched for in it.
 */
export function readCause(message: string): Cause {
  const words = readAnswer(message);
  const [cause] = causes.find(([, pattern]) => pattern.test(words)) ?? ["unauthorized"];
  return cause;
}

/** The scopes that a refusal names, whole: `short_links.create` names no `links.create`. */
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

/** The first pattern that matches counts: keys have scopes, and people have roles. */
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
