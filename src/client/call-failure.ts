/** Errors of the connection to the server. What the server itself rejects is a `Problem`. */
export type FailureCode =
  | "rate_limited"
  | "unreachable"
  | "timed_out"
  | "overloaded"
  | "outcome_unknown"
  | "bad_response"
  | "cancelled";

type FailureFacts = {
  /** Whether the call changed anything on the server. */
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

/** The code of an error in parentheses. An AggregateError contains one error for each address. */
export function describeCode(error: unknown): string {
  if (!(error instanceof Error)) return "";
  if ("code" in error && typeof error.code === "string") return ` (${error.code})`;
  return describeCode(error instanceof AggregateError ? error.errors[0] : error.cause);
}
