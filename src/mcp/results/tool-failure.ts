import * as z from "zod";
import { CallFailure } from "../../client/call-failure.ts";
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
import { advise, codes, type Code } from "./advice-by-code.ts";
import { placeProblem, problemSchema, type CallProblem } from "./call-problem.ts";

/** How the assistant is told of a call that failed (design.md, "Results"). */

const failureSchema = z.object({
  code: z.enum(codes),
  status: z.int().optional(),
  message: z.string(),
  problems: z.array(problemSchema).optional(),
  /** Whether anything changed. */
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
  /** One sentence: what to do now. */
  next: z.string(),
});
export type Failure = z.output<typeof failureSchema>;

const changedStatus = 412;

/** With these codes the deployment says that the key may not read, though it may write. */
const accessCodes: ReadonlySet<Code> = new Set([
  "scope_missing",
  "role_required",
  "plan_required",
  "unauthorized",
]);

/** Undefined for what the key may not read, which does not keep it from writing. */
export async function readIfAllowed<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ToolFailure && accessCodes.has(error.failure.code)) return undefined;
    throw error;
  }
}

/** Undefined for what could not be read, where the call can do without it. */
export async function readIfPossible<Value>(reading: Promise<Value>): Promise<Value | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof ToolFailure) return undefined;
    throw error;
  });
}

/** Thrown anywhere below a tool; the assistant gets the failure in it word for word. */
export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The target is not what the call was made for any more, and nothing happened. */
export function isChanged(error: unknown): boolean {
  return isRefused(error) && error.failure.status === changedStatus;
}

/** It is known that nothing happened. */
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

/** What cannot be noted is not asked for either. */
export function refuseUnnoted(tool: string, message: string): ToolFailure {
  const retry = message === messages.store_full ? "later" : "now";
  const next = advise("internal", { tool, message, retry });
  return new ToolFailure({ code: "internal", message, effect: "none", retry, next });
}

/** Whatever it was to be noted in or read from gives no answer; nothing was asked for. */
export function refuseForNow(tool: string, outage: Outage): ToolFailure {
  // That nobody knows what became of a note is of no weight then.
  const { message } = describeOutage(outage === "unknown" ? "away" : outage);
  const next = advise("overloaded", { tool, message });
  const facts = { effect: "none", retry: "later", retry_after_s: 1 } as const;
  return new ToolFailure({ code: "overloaded", message, ...facts, next });
}

/** What a call may have done by now: if so, a later failure leaves its effect unknown. */
export type Acted = { hasBegun: boolean; endpoint: Endpoint | undefined };

type Ended = {
  readonly name: string;
  readonly annotations: { readonly idempotentHint: boolean };
};

/**
 * The failure of a call whose store stopped responding; undefined for any other error. A call that
 * only read, or only noted something for itself, has changed nothing.
 */
export function explainOutage(
  error: unknown,
  { name, annotations }: Ended,
  { hasBegun, endpoint }: Acted,
): Failure | undefined {
  const outage = readOutage(error);
  if (outage === undefined) return undefined;
  if (!hasBegun) return refuseForNow(name, outage).failure;
  const code = "outcome_unknown";
  const retry = annotations.idempotentHint ? "later" : "never";
  const next = advise(code, { tool: name, ...(endpoint && { endpoint }), retry });
  return { code, message: messages.store_went_away, effect: "unknown", retry, next };
}

/** The tool that was called, and the endpoint that it asked, if it asked one. */
export type Asked = {
  readonly tool: string;
  readonly endpoint?: Endpoint;
};

/** What the deployment said, or what went wrong on the way to it; other errors stay as they are. */
export function explainEnd(asked: Asked, error: unknown): unknown {
  if (error instanceof Problem) return new ToolFailure(explainProblem(asked, error));
  if (!(error instanceof CallFailure)) return error;
  const { code, message, facts } = error;
  return new ToolFailure({ code, message, ...facts, next: advise(code, { ...asked, ...facts }) });
}

function explainProblem(asked: Asked, problem: Problem): Failure {
  const { status, message } = problem;
  const code = readCode(status, message);
  const isMendable = code === "validation_failed" || code === "bad_request";
  const problems = isMendable ? listProblems(asked, problem) : undefined;
  const fields = problems?.map(({ field }) => field);
  const isForeign = isMendable && isForeignFault(message);
  return {
    code,
    status,
    message,
    ...(problems && { problems }),
    effect: "none",
    // Another way to the same host would be refused as well.
    retry: isMendable && !isForeign ? "now" : "never",
    next: isForeign ? adviceOnHosts : advise(code, { ...asked, message, fields }),
  };
}

const adviceOnHosts =
  "Tell the user that only the operator can allow another host, with WAYPOST_DESTINATIONS " +
  "or `waypost projects update --destinations`. Do not try another way.";

/** A remote server's problem that has no field and only repeats the message is left out. */
function listProblems({ endpoint }: Asked, problem: Problem): CallProblem[] | undefined {
  const { status, message, server, problems } = problem;
  const sentences = problems ?? (status === 422 ? [{ message: readAnswer(message) }] : undefined);
  const placed = sentences
    ?.flatMap((sentence) => placeProblem(endpoint, sentence))
    .map((part) => ({ ...part, message: quoteAnswer(server, part.message) }))
    .filter((part) => server === undefined || part.field !== undefined || part.message !== message);
  return placed?.length === 0 ? undefined : placed;
}

function readCode(status: number, message: string): Code {
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

/** All that a client may learn of an unexpected error. */
export function describeFault(reference: string): string {
  return `Something went wrong inside Waypost (reference ${reference}).`;
}
