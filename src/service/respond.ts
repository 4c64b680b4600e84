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

/** The headers of every reply with a body. Replies carry private data: no cache may store them. */
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

/** The specification does not name this header, so it is short: proxies refuse long headers. */
const mostWarningBytes = 500;

/**
 * A `Warning` header (RFC 7234, §5.5): what was ignored of a request that was carried out. Names
 * in it are strangers': no letter gets through which could end the text or the header.
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

/** Data is never a bare text, so that a text is a page's. */
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
 * What an error means to the caller. Anything unexpected is reported under a reference, and the
 * caller learns the reference alone.
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

/** Two writers wanted one value: that of the last column of the broken constraint. */
function describeDuplicate({ columns }: Duplicate): Problem {
  const column = columns.at(-1)?.split(".").at(-1) ?? "value";
  return validationFailed([takenFault(column === "address" ? "path" : column)]);
}
