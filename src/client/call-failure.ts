/** What went wrong on the way to the deployment; its own refusals are `Problem`s. */
export type FailureCode =
  | "rate_limited"
  | "unreachable"
  | "timed_out"
  | "overloaded"
  | "outcome_unknown"
  | "bad_response"
  | "cancelled";

type FailureFacts = {
  /** Whether anything changed over there. */
  readonly effect: "none" | "unknown" | "done";
  readonly retry: "never" | "now" | "later";
  readonly retry_after_s?: number;
};

export class CallFailure extends Error {
  override readonly name = "CallFailure";
  readonly code: FailureCode;
  readonly facts: FailureFacts;

  constructor(code: FailureCode, message: string, facts: FailureFacts, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.facts = facts;
  }
}
