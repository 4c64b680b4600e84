import { messages } from "./messages.ts";
import { quoteAnswer } from "./server-answer.ts";
import { humanize } from "./text.ts";

/** One broken rule of a request: the field that it is about, and a clause of the 422 sentence. */
export type FieldProblem = { readonly field: string; readonly message: string };

/** A broken rule inside of a text: the place counts from 1. */
export type PlacedProblem = FieldProblem & { readonly line?: number; readonly column?: number };

/** As a deployment tells it, which need not name a field. */
export type StatedProblem = Omit<PlacedProblem, "field"> & { readonly field?: string };

/** Values as they would be stored, with every rule that they break. */
export type Checked<Values> = {
  readonly values: Values;
  readonly problems: readonly FieldProblem[];
};

/** A problem in the words of the API: the field's name, then what is wrong with it. */
export function faultOf(field: string, fault: string): FieldProblem {
  return { field, message: `${humanize(field)} ${fault}` };
}

export function takenFault(field: string): FieldProblem {
  return faultOf(field, "has already been taken");
}

type ProblemOptions = {
  readonly headers?: Readonly<Record<string, string>>;
  /** POST /short_links answers some errors under `errors` (api-spec.md, "Errors"). */
  readonly key?: "error" | "errors";
  /** Beside the sentence, each part of it with its place. */
  readonly problems?: readonly StatedProblem[];
  /** The broken rules one by one: over the wire they are the sentence alone. */
  readonly faults?: readonly FieldProblem[];
  /** The host name of the remote server that wrote message and problems: it is quoted. */
  readonly server?: string | undefined;
};

/** The one error that crosses the wire: a status and a message meant for the caller. */
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

/** A 401 names the scheme by which a key is shown (RFC 9110, §15.5.2). */
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

/** What was read before is not what is there by now. */
export function changedSince(): Problem {
  return new Problem(412, messages.changed_since);
}

/** The request may only create, and its target exists. */
export function alreadyExists(): Problem {
  return new Problem(412, messages.already_exists);
}

/** Why a store gives no answer (sql/faults.ts). */
export type Outage = "busy" | "locked" | "away" | "unknown";

/** What is said of it, by whichever door somebody came. */
export function explainOutage(outage: Outage): Problem {
  if (outage === "unknown") return outcomeUnknown();
  if (outage === "locked") return comeBack(messages.store_locked);
  return outage === "away" ? comeBack(messages.store_away) : overloaded();
}

/** What else fails with a 5xx may have been written all the same. */
export function saysNothingWritten(message: string): boolean {
  return nothingWritten.has(message);
}

const nothingWritten: ReadonlySet<string> = new Set([messages.store_locked, messages.not_begun]);

/** The code by which assistants and people know it (design.md, "Results"). */
export function readOutageCode({ message }: Problem): "overloaded" | "outcome_unknown" {
  return message === messages.outcome_unknown ? "outcome_unknown" : "overloaded";
}

export function overloaded(): Problem {
  return comeBack(messages.took_too_long);
}

/** The same of a write, where it is sure that nothing of it was begun. */
export function notBegun(): Problem {
  return comeBack(messages.not_begun);
}

/** The only refusal with a Retry-After: the 429 has none (api-spec.md, "Errors"). */
function comeBack(message: string): Problem {
  return new Problem(503, message, { headers: { "retry-after": "1" } });
}

/**
 * A write had begun, and it is not known whether it was kept. No 503: clients repeat a request that
 * a 503 has answered.
 */
export function outcomeUnknown(): Problem {
  return new Problem(500, messages.outcome_unknown);
}

/** Refuses a request for everything that is wrong with it at once, in one sentence. */
export function validationFailed(
  problems: readonly FieldProblem[],
  key: "error" | "errors" = "error",
): Problem {
  const sentence = toSentence(problems.map((problem) => problem.message));
  return new Problem(422, sentence, { key, faults: problems });
}

/** As `validationFailed`, for faults that have a place in a text; they go along as a list. */
export function templateRefused(problems: readonly PlacedProblem[]): Problem {
  const clauses = problems.map(({ field, line, column, message }) => {
    const place = line === undefined ? "" : `${humanize(field)} line ${line}, column ${column}: `;
    return place + message.replace(/\.$/, "");
  });
  return new Problem(422, toSentence(clauses), { problems });
}

/**
 * Joins the clauses of a 422 as the API does: "A", "A and B", "A, B, and C".
 * api-spec.md, "App validation messages", shows the three-part form.
 */
export function toSentence(parts: readonly string[]): string {
  const last = parts.at(-1);
  if (last === undefined) return "";
  if (parts.length === 1) return last;
  if (parts.length === 2) return `${parts[0]} and ${last}`;
  return `${parts.slice(0, -1).join(", ")}, and ${last}`;
}
