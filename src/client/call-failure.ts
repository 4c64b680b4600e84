/** What went wrong on the way to the server; its own refusals are `Problem`s. */
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

/** The code of an error in brackets; several addresses fail with an AggregateError. */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string") return ` (${error.code})`;
  return describeCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
