import * as z from "zod";
import type { AnswerApi, ApiReply, ApiRequest } from "../contract/api-message.ts";
import type { SetAlarm } from "../contract/clock.ts";
import { type Endpoint, listUnread, noteUnread, type UnreadPart } from "../contract/endpoint.ts";
import { meta, normalizeId, storedId, unwrap, type ReceivedMeta } from "../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { paging } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import {
  Problem,
  notFound,
  saysNothingWritten,
  toSentence,
  type StatedProblem,
} from "../contract/problem.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { humanize } from "../contract/text.ts";
import { createCallerSignal, type CallerSignal } from "../contract/waiting.ts";
import { quote, showHidden } from "../text/show-hidden.ts";
import { CallFailure, describeCode, failOverloaded, type TryOutcome } from "./outcome.ts";

/** Sends a call once and determines its outcome. */

/** Sends a request over the network, or to the service in this process. */
export type Send = (request: ApiRequest, signal: CallerSignal) => Promise<ArrivingReply>;

/** A response whose status and headers have arrived. Its body may arrive later or never. */
type ArrivingReply = Omit<ApiReply, "body"> & {
  /**
   * Returns parsed JSON, null for an empty body, and undefined for a body that is too large.
   * Returns any other body as text.
   */
  readonly readBody: () => Promise<unknown>;
};

/** Thrown if no part of the request was sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

type Attempt = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  readonly request: ApiRequest;
  readonly send: Send;
  /** Called with the time from the server's `Date` header. */
  readonly noteTime: (time: number) => unknown;
  readonly signal: CallerSignal;
  readonly most_ms: number;
  readonly setAlarm: SetAlarm;
  /** The API key. It is removed from messages, because assistants read them. */
  readonly secret: string | undefined;
  /** The host name of a remote server; undefined for Waypost's own service. */
  readonly remoteHost: string | undefined;
};

export async function sendOnce(attempt: Attempt): Promise<TryOutcome> {
  const { send, request, signal, most_ms, setAlarm } = attempt;
  const { signal: ending, leave } = createCallerSignal();
  const stopAlarm = setAlarm(most_ms, leave);
  signal.addEventListener("abort", leave, { once: true });
  // Reject here as well, because some `Send` functions ignore the signal.
  const ended = new Promise<never>((_, reject) => {
    ending.addEventListener("abort", () => reject(new Error("the attempt has ended")));
  });
  try {
    return await readReply(attempt, await Promise.race([send(request, ending), ended]));
  } catch (error) {
    return explainThrown(error, ending.aborted);
  } finally {
    stopAlarm();
    signal.removeEventListener("abort", leave);
  }
}

/** Passes requests to the service in this process, which returns each response as a whole. */
export function sendEmbedded(answer: AnswerApi): Send {
  return async (request, signal) => {
    const onLeave = (leave: () => void) => signal.addEventListener("abort", leave, { once: true });
    const reply = await answer({ ...request, onLeave, hasLeft: () => signal.aborted });
    const { status, headers } = reply;
    return { status, headers, readBody: () => Promise.resolve(reply.body) };
  };
}

function explainThrown(error: unknown, isOver: boolean): TryOutcome {
  if (error instanceof NotSent) {
    const { cause } = error;
    const message = `The server cannot be reached${describeCode(cause)}.`;
    const facts = { effect: "none", retry: "later" } as const;
    return { kind: "unsent", error: new CallFailure("unreachable", message, facts, { cause }) };
  }
  if (isOver) {
    return {
      kind: "doubtful",
      reason: "timed_out",
      explanation: "the server did not respond in time",
    };
  }
  // Only the error's code is shown, because its message may contain text from the server.
  const explanation = `the connection was lost${describeCode(error)}`;
  return { kind: "doubtful", reason: "unreachable", explanation };
}

async function readReply(attempt: Attempt, reply: ArrivingReply): Promise<TryOutcome> {
  const { status, headers } = reply;
  const time = Date.parse(headers["date"] ?? "");
  if (!Number.isNaN(time)) attempt.noteTime(time);
  if (status >= 200 && status < 300) return readSuccess(attempt, reply);
  if (status >= 400) return readFailure(attempt, reply, await reply.readBody());
  // Read the body, so that the connection can be reused.
  await reply.readBody().catch(() => undefined);
  const found = `a redirect (status ${status}), which Waypost does not follow`;
  return failForeign(attempt.endpoint, found);
}

async function readSuccess(attempt: Attempt, reply: ArrivingReply): Promise<TryOutcome> {
  const { endpoint, secret } = attempt;
  const { headers } = reply;
  const isRead = endpoint.effect === "read";
  const body = await reply.readBody().catch((error: unknown) => {
    if (isRead) throw error;
    return "";
  });
  const isPage = /^text\/html\s*(;|$)/i.test(headers["content-type"] ?? "");
  const isWrongType = endpoint.type !== undefined && !isPage;
  const outcome = isWrongType ? unread("no page") : parseResponse(attempt, body);
  if (outcome.kind === "answered") noteWarnings(outcome.body, headers["warning"], secret);
  else if (isRead) return failForeign(endpoint, outcome.found);
  return outcome;
}

/** The API's 429 has no `Retry-After`, so the client waits for a whole window of the rate limit. */
const limitedFor_ms = 60_000;

function readFailure(attempt: Attempt, reply: ArrivingReply, body: unknown): TryOutcome {
  const { endpoint, remoteHost } = attempt;
  const { status } = reply;
  if (status === 429) return { kind: "limited", wait_ms: limitedFor_ms };
  const refusal = readRefusal(attempt, body);
  if (status >= 500) return readOutage(reply, refusal?.message, remoteHost);
  if (isForeign(status, body, refusal)) {
    if (endpoint.documented === false && status === 404) {
      return { kind: "failed", error: notFound(messages.not_offered) };
    }
    const words = refusal === undefined ? "" : `: ${quote(refusal.message)}`;
    return failForeign(endpoint, `the status ${status} and ${describeBody(body)}${words}`);
  }
  if (refusal === undefined) {
    return { kind: "failed", error: new Problem(status, messages.unexplained(status)) };
  }
  const { message, ...problems } = refusal;
  const error = new Problem(status, message, { ...problems, server: remoteHost });
  return { kind: "failed", error };
}

/** A write may have taken effect despite a 5xx status, even if the API itself returned a 503. */
function readOutage(
  { status, headers }: ArrivingReply,
  message: string | undefined,
  host: string | undefined,
): TryOutcome {
  const wait_ms = status === 503 ? readRetryAfter(headers) : undefined;
  if (wait_ms !== undefined && message !== undefined && saysNothingWritten(message)) {
    return { kind: "failed", error: failOverloaded(message, wait_ms) };
  }
  const who = host === undefined ? "Waypost" : `the server at ${host}`;
  const words = host === undefined ? message : message && quote(message, Infinity);
  const explanation = `${who} returned status ${status}${words === undefined ? "" : `: ${words}`}`;
  return { kind: "doubtful", reason: "overloaded", explanation, wait_ms };
}

const leastWait_ms = 1000;
const mostWait_ms = 30_000;

/** After a 503, the client waits even if the response has no `Retry-After` header. */
function readRetryAfter(headers: ArrivingReply["headers"]): number {
  const wait_ms = Number(headers["retry-after"] ?? 0) * 1000 || leastWait_ms;
  return Math.min(Math.max(wait_ms, leastWait_ms), mostWait_ms);
}

/** Whether the response came from a different server or a proxy, and not from the API. */
function isForeign(status: number, body: unknown, refusal: ServerRefusal | undefined): boolean {
  if (typeof body === "string" && isPage(body)) return true;
  const isData = body !== null && typeof body !== "string";
  return isData ? refusal === undefined : status === 404 || status === 421;
}

function failForeign({ effect }: Endpoint, found: string): TryOutcome {
  const message = `The server does not seem to offer this API: it returned ${found}.`;
  const facts = { effect: effect === "read" ? "none" : "unknown", retry: "never" } as const;
  return { kind: "failed", error: new CallFailure("bad_response", message, facts) };
}

type ServerRefusal = {
  readonly message: string;
  /** The individual problems, if the response lists them. */
  readonly problems?: readonly StatedProblem[];
};

const messageLength = 4000;
/** The maximum length of a problem's message, and of its field name. */
const problemLength = 500;
const mostProblems = 20;

/** Parses an error response. Returns undefined if it contains no readable message. */
function readRefusal({ endpoint, secret }: Attempt, body: unknown): ServerRefusal | undefined {
  const clean = (text: string, most: number) =>
    showHidden(hideSecret(text, secret).slice(0, most)).slice(0, most);
  const problems = listProblems(body).flatMap(({ field, line, column, message }) => {
    if (typeof message !== "string") return [];
    const place = {
      ...(isFieldOf(endpoint, field) && { field: clean(field, problemLength) }),
      ...(typeof line === "number" && { line }),
      ...(typeof column === "number" && { column }),
    };
    return [{ ...place, message: clean(message, problemLength) }];
  });
  const joined = toSentence(problems.map(({ message }) => message.replace(/\.$/, "")));
  const message = clean(findSentence(body) ?? joined, messageLength);
  if (message.trim() === "") return undefined;
  return { message, ...(problems.length > 0 && { problems }) };
}

/**
 * A name that is not a field of the request is untrusted text from the server, so it is not shown.
 */
function isFieldOf({ body }: Endpoint, field: unknown): field is string {
  return typeof field === "string" && (field.split(".")[0] ?? "") in (body?.shape ?? {});
}

function findSentence(body: unknown): string | undefined {
  if (typeof body === "string") return isPage(body) ? "" : body.replace(/\s+/g, " ").trim();
  if (!isJsonObject(body)) return undefined;
  const { error, errors, message } = body;
  const inner = isJsonObject(error) ? error["message"] : undefined;
  return [error, inner, errors, message].find((text) => typeof text === "string");
}

function isPage(text: string): boolean {
  return /^\s*<[a-z!?]/i.test(text);
}

/** Waypost lists `problems`. Other servers list messages, either in an array or by field name. */
function listProblems(body: unknown): readonly JsonObject[] {
  if (!isJsonObject(body)) return [];
  const listed = body["problems"] ?? body["errors"] ?? body["error"];
  if (Array.isArray(listed)) {
    return listed
      .slice(0, mostProblems)
      .map((item) => (isJsonObject(item) ? item : { message: item }));
  }
  if (!isJsonObject(listed) || typeof listed["message"] === "string") return [];
  const named = Object.entries(listed).slice(0, mostProblems);
  return named
    .flatMap(([field, texts]) => [texts].flat().map((text) => nameProblem(field, text)))
    .slice(0, mostProblems);
}

/**
 * A lowercase message such as `is invalid` is joined to the field's name. Other messages are whole
 * sentences.
 */
function nameProblem(field: string, text: unknown): JsonObject {
  if (typeof text !== "string") return {};
  const isClause = /^\p{Ll}/u.test(text) && !text.toLowerCase().startsWith(field);
  const isNamed = isClause && field !== "base";
  return { field, message: isNamed ? `${humanize(field)} ${text}` : text };
}

/** Removes the key, because some servers repeat it in messages. */
function hideSecret(text: string, secret: string | undefined): string {
  return secret === undefined ? text : text.replaceAll(secret, "[the key]");
}

/**
 * Parses a successful response of any server. A record needs only an ID. If a field has the wrong
 * type, it is removed, and counts as unknown, not as empty. Unknown fields are kept.
 */

type ReadOutcome = Extract<TryOutcome, { readonly kind: "answered" | "accepted" }>;

function parseResponse({ endpoint, input }: Attempt, body: unknown): ReadOutcome {
  const { response } = endpoint;
  if (response === null) return { kind: "answered", body: null };
  if (response instanceof z.ZodObject) {
    const list = findList(response);
    if (list !== undefined) return readList(endpoint, list, input, body);
    if ("id" in response.shape) return readResource(endpoint, response, input, body);
  }
  const { success, data } = response.safeParse(body);
  return success ? { kind: "answered", body: data } : unread(describeBody(body));
}

function describeBody(body: unknown): string {
  if (body === undefined) return "a response larger than 8 MiB";
  if (body === null) return "an empty body";
  return typeof body === "string" ? "no JSON" : "JSON that does not match this API";
}

/** Returns the outcome of an unreadable response. `found` says what was wrong with it. */
function unread(found: string): ReadOutcome {
  return { kind: "accepted", found };
}

function readResource(
  endpoint: Endpoint,
  schema: z.ZodObject,
  input: JsonObject,
  body: unknown,
): ReadOutcome {
  const read = readRecord(schema, body);
  if (read === undefined) return unread(describeBody(body));
  const { record, dropped } = read;
  if (answersTarget(endpoint)) {
    const isOther = normalizeId(String(record["id"])) !== normalizeId(String(input["id"]));
    if (isOther) return unread("a record with another id");
  } else {
    // An object with an ID but only unknown fields comes from a different API.
    const [, ...others] = Object.keys(record);
    const isKnown = others.some((name) => name !== "id" && name in schema.shape);
    if (others.length > 0 && !isKnown) return unread(describeBody(body));
  }
  const parts = dropped.map((field) => ({ field, message: `The server's ${field} ${wrongType}` }));
  return { kind: "answered", body: noteUnread(record, parts) };
}

const wrongType = "has the wrong type";

type ListShape = { readonly name: string; readonly row: z.ZodObject };

/** Finds the property of a response that contains the listed records. */
function findList({ shape }: z.ZodObject): ListShape | undefined {
  for (const [name, member] of Object.entries(shape)) {
    const row: unknown = member instanceof z.ZodArray ? member.element : undefined;
    if (row instanceof z.ZodObject && "id" in row.shape) return { name, row };
  }
  return undefined;
}

function readList(
  endpoint: Endpoint,
  { name, row }: ListShape,
  input: JsonObject,
  body: unknown,
): ReadOutcome {
  const given = isJsonObject(body) ? body[name] : undefined;
  if (!isJsonObject(body) || !Array.isArray(given)) return unread(describeBody(body));
  const parts: UnreadPart[] = [];
  const rows = given.flatMap((item: unknown, place) => {
    const read = readRecord(row, item);
    if (read === undefined) {
      parts.push({ row: place, message: `Row ${place + 1} has no usable ID` });
      return [];
    }
    for (const field of read.dropped) {
      parts.push({ field, message: `The server's ${field} in row ${place + 1} ${wrongType}` });
    }
    return [read.record];
  });
  const page = endpoint.list && { meta: readMeta(body["meta"], input, given.length) };
  return { kind: "answered", body: noteUnread({ ...body, [name]: rows, ...page }, parts) };
}

type RecordWithDrops = { readonly record: JsonObject; readonly dropped: readonly string[] };

/** Returns undefined if the value is not an object or has no valid ID. */
function readRecord(schema: z.ZodObject, given: unknown): RecordWithDrops | undefined {
  const { data, error } = makeLenient(schema).safeParse(given);
  if (error === undefined) return { record: data, dropped: [] };
  const dropped = [...new Set(error.issues.map(({ path }) => String(path[0])))];
  if (!isJsonObject(given) || dropped.includes("id")) return undefined;
  const rest = Object.entries(given).filter(([name]) => !dropped.includes(name));
  const read = readRecord(schema, Object.fromEntries(rest));
  return read && { record: read.record, dropped };
}

const lenientSchemas = new WeakMap<z.ZodObject, z.ZodObject>();

function makeLenient(schema: z.ZodObject): z.ZodObject {
  const known = lenientSchemas.get(schema);
  if (known !== undefined) return known;
  const members = Object.entries(schema.shape).map(([name, member]) => {
    const inner = unwrap(member);
    if (name === "id") return [name, readableId] as const;
    return [name, z.nullish(inner instanceof z.ZodObject ? makeLenient(inner) : inner)] as const;
  });
  const lenient = z.looseObject(Object.fromEntries(members));
  lenientSchemas.set(schema, lenient);
  return lenient;
}

/** Waypost's IDs are strings, but some servers use numbers. */
const readableId = z.union([storedId, z.int().transform(String)]);

/**
 * Determines whether a list has another page. If `meta` does not say so, a full page has a next
 * one. An empty page is always the last one, so that no reader loops forever.
 */
function readMeta(given: unknown, input: JsonObject, shown: number): ReceivedMeta {
  const { limit: reported, next, ...rest }: ReceivedMeta = readRecord(meta, given)?.record ?? {};
  const page = Number(input["page"] ?? 1);
  const asked = Number(input["limit"] ?? reported ?? paging.default_limit);
  const limit = isCount(reported) && reported >= shown ? Math.min(reported, asked) : undefined;
  const isMore = () => {
    if (isCount(next) && next > page) return true;
    if (isCount(rest.last)) return rest.last > page;
    if (isCount(rest.count)) return rest.count > page * (limit ?? shown);
    return shown >= (limit ?? asked);
  };
  return {
    ...rest,
    page,
    ...(limit !== undefined && { limit }),
    ...(shown > 0 && isMore() && { next: page + 1 }),
  };
}

function isCount(value: number | null | undefined): value is number {
  return typeof value === "number" && value >= 0;
}

const mostWarnings = 5;
const mostCharacters = 500;

/**
 * Adds the texts of a `Warning` header (RFC 7234, section 5.5) to the list of problems in the
 * response. Parses only warnings of the form `299 name "text"`.
 */
function noteWarnings(body: unknown, header = "", secret?: string): void {
  if (typeof body !== "object" || body === null) return;
  const quoted = /(?:^|,)\s*\d{3} [^\s",]+ "((?:[^"\\]|\\.)+)"/g;
  const texts = [...header.matchAll(quoted)].map(([, text = ""]) =>
    hideSecret(text.replace(/\\(.)/g, "$1"), secret),
  );
  const warnings = [...new Set(texts)].slice(0, mostWarnings);
  const parts = warnings.map((text) => ({ message: describeWarning(text) }));
  noteUnread(body, [...listUnread(body), ...parts]);
}

export function describeWarning(text: string): string {
  return `The server warned: ${quote(text, mostCharacters)}`;
}
