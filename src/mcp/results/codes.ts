/** What can become of a call that comes to nothing (design.md, "Results"). */

export const codes = [
  "invalid_arguments",
  "bad_request",
  "key_missing",
  "key_invalid",
  "account_suspended",
  "scope_missing",
  "role_required",
  "plan_required",
  "unauthorized",
  "not_found",
  "validation_failed",
  "rate_limited",
  "overloaded",
  "unreachable",
  "timed_out",
  "outcome_unknown",
  "bad_response",
  "approval_required",
  "approval_declined",
  "plan_changed",
  "cancelled",
  "internal",
] as const;
export type Code = (typeof codes)[number];
