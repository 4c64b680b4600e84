import { describe, expect, test } from "vitest";
import { readCause, type Cause } from "../../../src/contract/access.ts";
import { messages } from "../../../src/contract/messages.ts";

/** One status for six causes: what a deployment may say for each, in words that nobody promised. */
const said: Readonly<Record<Cause, readonly string[]>> = {
  key_missing: [
    messages.key_missing,
    "API key is missing",
    "Missing API key",
    "No API key provided",
    "API key required",
    "An API key is required to access this resource.",
    "Authorization header is missing",
    "Missing Authorization header",
    "API key not provided",
    "Authentication required",
    "No token given",
    "Please log in to continue",
    "You need to sign in or sign up before continuing.",
    "API key missing. Ask the project's owner for one.",
  ],
  key_invalid: [
    messages.key_invalid,
    messages.key_malformed,
    messages.key_ambiguous,
    messages.master_required,
    messages.project_key_required,
    "Invalid API key",
    "Unknown API key",
    "API key not found",
    "Bad credentials",
    "This API key has been revoked",
    "API key expired",
    "The API key is not valid",
    "Incorrect API key provided",
    "API key is not recognized",
    "The token has expired",
    "Invalid or missing API key",
    "A master API key is required",
    "Projects can only be accessed with a master API key",
    "This API key has been disabled",
    "The API key does not exist",
    "API key is invalid. Ask the project owner for a new one.",
    "The key you sent is inactive",
  ],
  account_suspended: [
    messages.account_suspended,
    "Your account has been suspended",
    "Account suspended due to non-payment",
    "Your account is deactivated",
    "The account is locked",
    "Account disabled",
    "Your account has been closed",
    "This project is suspended.",
    "The key's owner is suspended",
  ],
  scope_missing: [
    messages.scope_missing("links.destroy"),
    "Insufficient scope",
    "insufficient_scope",
    "This API key does not have the required scope",
    "Missing scope: links.index",
    "This key is limited to other scopes",
    "This API key is not authorized for links.create",
    "The key lacks the permission links.update",
    "API key does not have permission to perform this action",
    "This API key is not allowed to call this endpoint",
    "API key is missing required permissions",
    "This token has no access to this endpoint",
    "Key permissions do not include ios_apps.destroy",
  ],
  role_required: [
    messages.role_required("viewer"),
    messages.role_required("manager"),
    messages.role_required("owner"),
    "Creating an app needs the Manager or Owner role.",
    "You must be an owner or manager",
    "Only managers can create apps",
    "Insufficient role",
    "Your role does not allow this",
    "Viewer access required",
    "Requires Manager or Owner access to the project",
    "The owner of this key is not allowed to manage apps",
    "You need to be a project admin",
    "You are not authorized to perform this action.",
    "You are not allowed to access this project",
    "You don't have permission to do that",
    "Insufficient permissions",
  ],
  plan_required: [
    messages.plan_required,
    messages.pro_fields("referrer"),
    messages.link_limit(1000),
    "Upgrade to Pro to use this feature",
    "Your plan does not allow this action",
    "Free tier link limit exceeded",
    "You have reached the link limit of your plan",
    "This is a Pro feature",
    "Subscription required",
    "Your current plan allows only 10 links",
    "Available on paid plans only",
    "Your trial has ended",
    "Link limit reached",
    "Link quota exceeded",
    "Please upgrade your subscription",
    "URL shortening requires the Pro plan",
  ],
  unauthorized: [
    "Unauthorized",
    "Access denied",
    "HTTP Token: Access denied.",
    "Forbidden",
    "No.",
    "",
  ],
};

describe.each(Object.entries(said))("a refusal for the cause %s", (cause, sentences) => {
  test.each(sentences)("is told by its words: %s", (sentence) => {
    expect(readCause(sentence)).toBe(cause);
    expect(readCause(sentence.toUpperCase())).toBe(cause);
  });
});

test("a refusal of any length is read at once", () => {
  for (const word of ["key ", "account ", "invalid ", "key is ", "scope.", "not "]) {
    expect(readCause(word.repeat(1000))).toEqual(expect.any(String));
  }
});
