import { scopes, type Scope } from "./scopes-and-roles.ts";
import { readAnswer } from "./server-answer.ts";

/** The causes of a 401. The API uses one status for all of them; only the message differs. */
export type Cause =
  | "key_missing"
  | "key_invalid"
  | "account_suspended"
  | "scope_missing"
  | "role_required"
  | "plan_required"
  | "unauthorized";

/**
 * Reads the cause of a 401 from its message. The API promises that the message states the cause,
 * but not in which words, so this searches the message for patterns.
 */
export function readCause(message: string): Cause {
  const words = readAnswer(message);
  const [cause] = causes.find(([, pattern]) => pattern.test(words)) ?? ["unauthorized"];
  return cause;
}

/**
 * The scopes in a message, as whole words: `short_links.create` does not contain `links.create`.
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
 * The first matching pattern decides. Patterns about keys mean scopes; patterns about people mean
 * roles.
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
