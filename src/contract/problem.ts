import { messages } from "./messages.ts";
import { quoteAnswer } from "./server-answer.ts";
import { humanize } from "./text.ts";

/** The errors of the API, each with its HTTP status and message. */

/** A validation error: the field, and a clause of the 422 message. */
export type FieldProblem = { readonly field: string; readonly message: string };

/** A validation error in a template's text. Lines and columns start at 1. */
export type TextProblem = FieldProblem & { readonly line?: number; readonly column?: number };

/** A validation error as received from a server, perhaps without a field. */
export type StatedProblem = Omit<TextProblem, "field"> & { readonly field?: string };

/** Values as they would be stored, with all of their validation errors. */
export type CheckedValues<Values> = {
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
};

/** Builds a validation error in the API's format: the field's name, then the fault. */
export function makeFieldProblem(field: string, fault: string): FieldProblem {
  return { field, message: `${humanize(field)} ${fault}` };
}

export function makeTakenProblem(field: string): FieldProblem {
  return makeFieldProblem(field, "has already been taken");
}

type ProblemOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  /** POST /short_links returns validation errors under `errors`. */
  readonly key?: "error" | "errors";
  /** Validation errors with their positions in a template. The response includes this list. */
  readonly problems?: readonly StatedProblem[];
  /** The validation errors one by one. The response contains only the joined message. */
  readonly faults?: readonly FieldProblem[];
  /** The remote server that sent the message. The error then quotes the message. */
  readonly server?: string | undefined;
};

/** The error that API callers receive: a status and a message. */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: "error" | "errors";
  readonly problems: readonly StatedProblem[] | undefined;
  readonly faults: readonly FieldProblem[] | undefined;
  readonly server: string | undefined;

  constructor(status: number, message: string, options: ProblemOptions = {}) {
    super(quoteAnswer(options.server, message));
    this.status = status;
    this.headers = options.headers ?? {};
    this.key = options.key ?? "error";
    this.problems = options.problems;
    this.faults = options.faults;
    this.server = options.server;
  }
}

export function badRequest(message: string): Problem {
  return new Problem(400, message);
}

/** A 401 must name the authentication scheme (RFC 9110, section 15.5.2). */
export function unauthorized(message: string): Problem {
  return new Problem(401, message, { headers: { "www-authenticate": 'Token realm="Waypost"' } });
}

export function notFound(message: string): Problem {
  return new Problem(404, message);
}

export function methodNotAllowed(known: readonly string[]): Problem {
  const headers = { allow: known.join(", ") };
  return new Problem(405, messages.method_unknown(headers.allow), { headers });
}

export function rateLimited(): Problem {
  return new Problem(429, messages.rate_limited);
}

export function changedSince(): Problem {
  return new Problem(412, messages.changed_since);
}

/** The request may only create a record, but the record already exists. */
export function alreadyExists(): Problem {
  return new Problem(412, messages.already_exists);
}

/** Why the database does not respond (see `sql/faults.ts`). */
export type Outage = "busy" | "locked" | "away" | "unknown";

/** Returns the error that API callers receive during an outage. */
export function explainOutage(outage: Outage): Problem {
  if (outage === "unknown") return outcomeUnknown();
  if (outage === "locked") return makeUnavailable(messages.store_locked);
  return outage === "away" ? makeUnavailable(messages.store_away) : overloaded();
}

/**
 * Whether a 5xx message guarantees that nothing was written. After any other 5xx message, a write
 * may have been saved.
 */
export function saysNothingWritten(message: string): boolean {
  return nothingWritten.has(message);
}

const nothingWritten: ReadonlySet<string> = new Set([messages.store_locked, messages.not_begun]);

export function readOutageCode({ message }: Problem): "overloaded" | "outcome_unknown" {
  return message === messages.outcome_unknown ? "outcome_unknown" : "overloaded";
}

export function overloaded(): Problem {
  return makeUnavailable(messages.took_too_long);
}

/** The request timed out before any write started. */
export function notBegun(): Problem {
  return makeUnavailable(messages.not_begun);
}

/** Only 503 responses have a Retry-After header; the API's 429 responses have none. */
function makeUnavailable(message: string): Problem {
  return new Problem(503, message, { headers: { "retry-after": "1" } });
}

/** A write started, but may not have been saved. Not a 503, because clients retry after a 503. */
export function outcomeUnknown(): Problem {
  return new Problem(500, messages.outcome_unknown);
}

/** Builds a 422 with one message for all validation errors. */
export function validationFailed(
  problems: readonly FieldProblem[],
  key: "error" | "errors" = "error",
): Problem {
  const sentence = toSentence(problems.map((problem) => problem.message));
  return new Problem(422, sentence, { key, faults: problems });
}

/**
 * Like `validationFailed`, for errors in a template. The response also contains the list of errors.
 */
export function templateRefused(problems: readonly TextProblem[]): Problem {
  const clauses = problems.map(({ field, line, column, message }) => {
    const place = line === undefined ? "" : `${humanize(field)} line ${line}, column ${column}: `;
    return place + message.replace(/\.$/, "");
  });
  return new Problem(422, toSentence(clauses), { problems });
}

/** Joins the clauses of a 422 as the API does: "A", "A and B", "A, B, and C". */
export function toSentence(parts: readonly string[]): string {
  const last = parts.at(-1);
  if (last === undefined) return "";
  if (parts.length === 1) return last;
  if (parts.length === 2) return `${parts[0]} and ${last}`;
  return `${parts.slice(0, -1).join(", ")}, and ${last}`;
}
