import { describe, expect, test } from "vitest";
import { readCause, type Cause } from "../../src/contract/access.ts";
import { messages } from "../../src/contract/messages.ts";

/** A 401 has one of six known causes. Remote servers describe each of them in different words. */
const sentencesByCause: Readonly<Record<Cause, readonly string[]>> = {
  key_missing: [
    messages.key_missing,
    "No API key provided",
    "An API key is required to access this resource.",
    "Missing Authorization header",
    "API key not provided",
    "Authentication required",
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
    "API key not found",
    "Bad credentials",
    "This API key has been revoked",
    "Incorrect API key provided",
    "API key is not recognized",
    "Invalid or missing API key",
    "Projects can only be accessed with a master API key",
    "The API key does not exist",
    "API key is invalid. Ask the project owner for a new one.",
    "The key you sent is inactive",
  ],
  account_suspended: [
    messages.account_suspended,
    "Account suspended due to non-payment",
    "The account is locked",
    "Your account has been closed",
    "This project is suspended.",
    "The key's owner is suspended",
  ],
  scope_missing: [
    messages.scope_missing("links.destroy"),
    "Insufficient scope",
    "This API key does not have the required scope",
    "Missing scope: links.index",
    "This API key is not authorized for links.create",
    "The key lacks the permission links.update",
    "API key does not have permission to perform this action",
    "This API key is not allowed to call this endpoint",
    "This token has no access to this endpoint",
    "Key permissions do not include ios_apps.destroy",
  ],
  role_required: [
    messages.role_required("viewer"),
    messages.role_required("manager"),
    messages.role_required("owner"),
    "Creating an app needs the Manager or Owner role.",
    "Only managers can create apps",
    "Insufficient role",
    "Requires Manager or Owner access to the project",
    "The owner of this key is not allowed to manage apps",
    "You need to be a project admin",
    "You are not authorized to perform this action.",
    "You are not allowed to access this project",
    "Insufficient permissions",
  ],
  plan_required: [
    messages.plan_required,
    messages.pro_fields("referrer"),
    messages.link_limit(1000),
    "Upgrade to Pro to use this feature",
    "Your plan does not allow this action",
    "You have reached the link limit of your plan",
    "This is a Pro feature",
    "Your current plan allows only 10 links",
    "Available on paid plans only",
    "Your trial has ended",
    "Link quota exceeded",
    "URL shortening requires the Pro plan",
  ],
  unauthorized: ["Unauthorized", "HTTP Token: Access denied.", "Forbidden", "No.", ""],
};

describe.each(Object.entries(sentencesByCause))("the cause %s of a 401", (cause, sentences) => {
  test.each(sentences)("is recognized in the error message: %s", (sentence) => {
    expect(readCause(sentence)).toBe(cause);
    expect(readCause(sentence.toUpperCase())).toBe(cause);
  });
});

test("a long error message is parsed quickly", () => {
  for (const word of ["key ", "account ", "invalid ", "key is ", "scope.", "not "]) {
    expect(readCause(word.repeat(1000))).toEqual(expect.any(String));
  }
});
