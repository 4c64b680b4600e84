import type { ApiReply } from "../contract/api-message.ts";
import { messages } from "../contract/messages.ts";
import {
  explainOutage,
  Problem,
  takenFault,
  unauthorized,
  validationFailed,
} from "../contract/problem.ts";
import { ProjectGone } from "../store/projects.ts";
import { Duplicate, isFull, readOutage } from "../store/store.ts";

/** The headers of every response with a body. Responses are private, so no cache may store them. */
const headers = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

export function respondWith(
  status: number,
  body: unknown,
  more?: Readonly<Record<string, string>>,
): ApiReply {
  const own = body === null ? { "cache-control": "no-store" } : headers;
  return { status, headers: more === undefined ? own : { ...own, ...more }, body };
}

/** Limited, because proxies reject long headers. */
const mostWarningBytes = 500;

/**
 * Formats a `Warning` header (RFC 7234, section 5.5) about ignored parts of a request. Its text can
 * contain names from the request, so characters that could end the text or the header are replaced.
 */
export function writeWarning(text: string): string {
  const [opening, closing] = ['299 waypost "', '"'];
  let quoted = "";
  for (const letter of text) {
    const safe = /[\x20-\x7e]/.test(letter) ? letter.replace(/["\\]/, "\\$&") : "?";
    if (opening.length + quoted.length + safe.length + closing.length > mostWarningBytes) break;
    quoted += safe;
  }
  return opening + quoted + closing;
}

/** Serializes the body. Data is never a plain string, so a string is a page. */
export function writeBody({ body }: Pick<ApiReply, "body">): string | null {
  if (body === null) return null;
  return typeof body === "string" ? body : JSON.stringify(body);
}

export function respondWithProblem(problem: Problem): ApiReply {
  const { status, key, message, problems } = problem;
  return {
    status,
    headers: { ...headers, ...problem.headers },
    body: { [key]: message, ...(problems && { problems }) },
  };
}

/**
 * Converts an error to the problem that the caller gets. Unexpected errors are reported to the
 * operator, and the caller gets only a reference.
 */
export function toProblem(error: unknown, report: (error: unknown) => string): Problem {
  if (error instanceof Problem) return error;
  const outage = readOutage(error);
  if (outage !== undefined) return explainOutage(outage);
  if (error instanceof Duplicate) return describeDuplicate(error);
  if (error instanceof ProjectGone) return unauthorized(messages.key_invalid);
  if (isFull(error)) return new Problem(500, messages.store_full);
  return new Problem(500, messages.internal(report(error)));
}

/**
 * Describes a conflict between two writers. The value that both wanted is in the constraint's last
 * column.
 */
function describeDuplicate({ columns }: Duplicate): Problem {
  const column = columns.at(-1)?.split(".").at(-1) ?? "value";
  return validationFailed([takenFault(column === "address" ? "path" : column)]);
}
