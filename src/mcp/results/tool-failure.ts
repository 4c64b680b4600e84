import * as z from "zod";
import { CallFailure } from "../../client/outcome.ts";
import { readCause } from "../../contract/access.ts";
import type { Endpoint } from "../../contract/endpoint.ts";
import { messages } from "../../contract/messages.ts";
import {
  changedSince,
  explainOutage as describeOutage,
  Problem,
  type Outage,
} from "../../contract/problem.ts";
import { isForeignFault } from "../../contract/rules/destinations.ts";
import { quoteAnswer, readAnswer } from "../../contract/server-answer.ts";
import { readOutage } from "../../state/state.ts";
import { advise, codes, type ToolFailureCode } from "./advice-by-code.ts";
import { placeProblem, problemSchema, type CallProblem } from "./call-problem.ts";

/**
 * Explains failed calls to the assistant: what happened, whether anything changed, and what to do
 * next.
 */

const failureSchema = z.object({
  code: z.enum(codes),
  status: z.int().optional(),
  message: z.string(),
  problems: z.array(problemSchema).optional(),
  effect: z.enum(["none", "unknown", "done"]),
  retry: z.enum(["never", "now", "later"]),
  retry_after_s: z.int().optional(),
  approval: z
    .object({
      preview: z.string(),
      url: z.string().optional(),
      expires_at: z.string(),
    })
    .optional(),
  next: z.string(),
});
export type Failure = z.output<typeof failureSchema>;

const changedStatus = 412;

/** Even if reading fails with one of these errors, the key may be allowed to write. */
const accessCodes: ReadonlySet<ToolFailureCode> = new Set([
  "scope_missing",
  "role_required",
  "plan_required",
  "unauthorized",
]);

/**
 * Returns undefined if the key lacks permission to read, because it may still be allowed to write.
 */
export async function readIfAllowed<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ToolFailure && accessCodes.has(error.failure.code)) return undefined;
    throw error;
  }
}

/** Reads an optional value. Returns undefined if the call fails. */
export async function readIfPossible<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof ToolFailure) return undefined;
    throw error;
  });
}

/** An error that the assistant receives unchanged. Any part of a tool may throw it. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** Whether nothing was written because the target had changed. */
export function isChanged(error: unknown): boolean {
  return isRefused(error) && error.failure.status === changedStatus;
}

/** Whether the call is certain to have changed nothing. */
export function isRefused(error: unknown): error is ToolFailure {
  return error instanceof ToolFailure && error.failure.effect === "none";
}

export function refuseChanged(tool: string): unknown {
  return explainEnd({ tool }, changedSince());
}

export function refuseArguments(tool: string, problems: readonly CallProblem[]): ToolFailure {
  const message = problems.map((problem) => problem.message).join("; ");
  return new ToolFailure({
    code: "invalid_arguments",
    message,
    problems: [...problems],
    effect: "none",
    retry: "now",
    next: advise("invalid_arguments", { tool, fields: problems.map(({ field }) => field) }),
  });
}

/** The error for a change that is not sent because the history cannot record it. */
export function refuseUnnoted(tool: string, message: string): ToolFailure {
  const retry = message === messages.store_full ? "later" : "now";
  const next = advise("internal", { tool, message, retry });
  return new ToolFailure({ code: "internal", message, effect: "none", retry, next });
}

/** The error for a database outage before anything was sent. */
export function refuseForNow(tool: string, outage: Outage): ToolFailure {
  const { message } = describeOutage(outage === "unknown" ? "away" : outage);
  const next = advise("overloaded", { tool, message });
  const facts = { effect: "none", retry: "later", retry_after_s: 1 } as const;
  return new ToolFailure({ code: "overloaded", message, ...facts, next });
}

/**
 * What a call has done so far. If the call fails after `hasBegun` is set, its effect is unknown.
 */
export type CallEffect = { hasBegun: boolean; endpoint: Endpoint | undefined };

type CalledTool = {
  readonly name: string;
  readonly annotations: { readonly idempotentHint: boolean };
};

/**
 * Explains a database outage during a call. Returns undefined for other errors. A call that only
 * read data, or wrote only Waypost's own records, has changed nothing.
 */
export function explainOutage(
  error: unknown,
  { name, annotations }: CalledTool,
  { hasBegun, endpoint }: CallEffect,
): Failure | undefined {
  const outage = readOutage(error);
  if (outage === undefined) return undefined;
  if (!hasBegun) return refuseForNow(name, outage).failure;
  const code = "outcome_unknown";
  const retry = annotations.idempotentHint ? "later" : "never";
  const next = advise(code, { tool: name, ...(endpoint && { endpoint }), retry });
  return { code, message: messages.store_went_away, effect: "unknown", retry, next };
}

export type FailedCall = {
  readonly tool: string;
  readonly endpoint?: Endpoint;
};

/**
 * Converts a rejected call or a failed connection to a ToolFailure. Returns other errors unchanged.
 */
export function explainEnd(call: FailedCall, error: unknown): unknown {
  if (error instanceof Problem) return new ToolFailure(explainProblem(call, error));
  if (!(error instanceof CallFailure)) return error;
  const { code, message, facts } = error;
  return new ToolFailure({ code, message, ...facts, next: advise(code, { ...call, ...facts }) });
}

function explainProblem(call: FailedCall, problem: Problem): Failure {
  const { status, message } = problem;
  const code = readCode(status, message);
  const isFixable = code === "validation_failed" || code === "bad_request";
  const problems = isFixable ? listProblems(call, problem) : undefined;
  const fields = problems?.map(({ field }) => field);
  const isForeign = isFixable && isForeignFault(message);
  return {
    code,
    status,
    message,
    ...(problems && { problems }),
    effect: "none",
    retry: isFixable && !isForeign ? "now" : "never",
    next: isForeign ? adviceOnHosts : advise(code, { ...call, message, fields }),
  };
}

const adviceOnHosts =
  "Tell the user that only the operator can allow another host, with WAYPOST_DESTINATIONS " +
  "or `waypost projects update --destinations`. Do not try another way.";

/**
 * Lists the problems of a rejected call. Omits a remote server's problem if it names no field and
 * only repeats the error message.
 */
function listProblems({ endpoint }: FailedCall, problem: Problem): CallProblem[] | undefined {
  const { status, message, server, problems } = problem;
  const sentences = problems ?? (status === 422 ? [{ message: readAnswer(message) }] : undefined);
  const placed = sentences
    ?.flatMap((sentence) => placeProblem(endpoint, sentence))
    .map((part) => ({ ...part, message: quoteAnswer(server, part.message) }))
    .filter((part) => server === undefined || part.field !== undefined || part.message !== message);
  return placed?.length === 0 ? undefined : placed;
}

function readCode(status: number, message: string): ToolFailureCode {
  switch (status) {
    case 400:
    case 413:
    case 414:
    case 431:
      return "bad_request";
    case 401:
    case 403:
      return readCause(message);
    case 404:
      return "not_found";
    case changedStatus:
      return "plan_changed";
    case 422:
      return "validation_failed";
    default:
      return "bad_response";
  }
}

/** Describes an unexpected error by its reference, because clients must not see the details. */
export function describeFault(reference: string): string {
  return `Something went wrong inside Waypost (reference ${reference}).`;
}
