import * as z from "zod";
import {
  CallFailure,
  describeCode,
  failOverloaded,
  failUnsent,
  type TryOutcome,
} from "./outcome.ts";
import { hideSecret, isPage, readRefusal, type ServerRefusal } from "./read-refusal.ts";
import type { ApiReply, ApiRequest } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { normalizeId, storedId, unwrap, type ReceivedMeta } from "../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { createLeaving, type Leaving } from "../contract/waiting.ts";
import { paging } from "../contract/limits.ts";
import { messages } from "../contract/messages.ts";
import { Problem, notFound, saysNothingWritten } from "../contract/problem.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { listUnread, noteUnread, type UnreadPart } from "../contract/server-answer.ts";
import { quote } from "../text/show-hidden.ts";

/** Sends a call once and determines its outcome. */

/** Sends a request over the network, or to the service in this process. */
export type Send = (request: ApiRequest, leaving: Leaving) => Promise<ArrivingReply>;

/** A response whose status has arrived. Its body may still be missing, or never arrive. */
type ArrivingReply = Omit<ApiReply, "body"> & {
  /** Returns undefined if the body has another form, and null if it is empty. */
  readonly readBody: (form: BodyForm) => Promise<unknown>;
  readonly discard: () => void;
};

/** How to read a body: as JSON, as an HTML page, or as the text of an error. */
export type BodyForm = "data" | "page" | "words";

export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

/** Thrown if no byte of the request was sent. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** Calls `ring` once after the given time. The returned function stops the timer. */
export type SetTimer = (ring: () => void, milliseconds: number) => () => void;

type Attempt = {
  readonly endpoint: Endpoint;
  readonly input: JsonObject;
  readonly request: ApiRequest;
  readonly send: Send;
  readonly signal: Leaving;
  readonly most_ms: number;
  readonly setTimer: SetTimer;
  /** Receives the `Date` header of a response. */
  readonly noteDate: (date: string | undefined) => void;
  /** The API key, which is removed from messages, because assistants read them. */
  readonly secret: string | undefined;
  /** The host name of a remote server; undefined for Waypost's own service. */
  readonly remoteHost: string | undefined;
};

export async function sendOnce(attempt: Attempt): Promise<TryOutcome> {
  const { send, request } = attempt;
  const deadline = startDeadline(attempt);
  try {
    return await readReply(
      attempt,
      await Promise.race([send(request, deadline.leaving), deadline.ended]),
    );
  } catch (error) {
    return explainThrown(error, deadline);
  } finally {
    deadline.stop();
  }
}

type Deadline = ReturnType<typeof startDeadline>;

/** Ends an attempt when its time is up or its caller disconnects. */
function startDeadline({ signal, most_ms, setTimer }: Attempt) {
  const { leaving, leave } = createLeaving();
  const stopTimer = setTimer(leave, most_ms);
  signal.addEventListener("abort", leave, { once: true });
  return {
    leaving,
    /** Rejects at the deadline, because some `Send` functions do not stop by themselves. */
    ended: new Promise<never>((_, reject) => {
      leaving.addEventListener("abort", () => reject(new Error("the time of this try is up")));
    }),
    stop: () => {
      stopTimer();
      signal.removeEventListener("abort", leave);
    },
  };
}

async function readReply(attempt: Attempt, reply: ArrivingReply): Promise<TryOutcome> {
  const { status, headers } = reply;
  attempt.noteDate(headers["date"]);
  if (status >= 200 && status < 300) return readSuccess(attempt, reply);
  if (status >= 400) return readFailure(attempt, reply, await reply.readBody("words"));
  reply.discard();
  const found = `a redirect (status ${status}), which Waypost does not follow`;
  return failForeign(attempt.endpoint, found);
}

async function readSuccess(
  { endpoint, input, secret }: Attempt,
  reply: ArrivingReply,
): Promise<TryOutcome> {
  const isRead = endpoint.effect === "read";
  let given: unknown;
  try {
    given = await reply.readBody(endpoint.type === "text/html" ? "page" : "data");
  } catch (error) {
    if (isRead && error instanceof ReplyTooLarge) return failForeign(endpoint, error.message);
    if (isRead) throw error;
  }
  const answer = parseResponse(endpoint, input, given);
  if (answer.kind === "unread") {
    return isRead ? failForeign(endpoint, answer.found) : { ...answer, kind: "accepted" };
  }
  const { body } = answer;
  noteWarnings(body, reply.headers["warning"], secret);
  return { kind: "answered", body };
}

function readFailure(attempt: Attempt, reply: ArrivingReply, body: unknown): TryOutcome {
  const { endpoint, secret, remoteHost } = attempt;
  const { status } = reply;
  if (status === 429) return { kind: "limited" };
  const refusal = readRefusal({ endpoint, body, secret });
  if (status >= 500) return readOutage(reply, refusal, remoteHost);
  if (isForeign(status, body, refusal)) {
    if (endpoint.documented === false && status === 404) {
      return { kind: "failed", error: notFound(messages.not_offered) };
    }
    const data = typeof body === "string" ? undefined : body;
    const words = refusal === undefined ? "" : `: ${quote(refusal.message)}`;
    return failForeign(endpoint, `the status ${status} and ${describeBody(data)}${words}`);
  }
  if (refusal === undefined) {
    return { kind: "failed", error: new Problem(status, messages.unexplained(status)) };
  }
  const { message, problems } = refusal;
  const options = { ...(problems && { problems }), server: remoteHost };
  return { kind: "failed", error: new Problem(status, message, options) };
}

/** The write may have happened despite a 5xx, even after the API's own 503. */
function readOutage(
  reply: ArrivingReply,
  refusal: ServerRefusal | undefined,
  host: string | undefined,
): TryOutcome {
  const { status } = reply;
  const wait = status === 503 ? { wait_ms: readRetryAfter(reply) } : {};
  if (status === 503 && refusal !== undefined && saysNothingWritten(refusal.message)) {
    return { kind: "failed", error: failOverloaded(refusal.message, wait.wait_ms) };
  }
  const message = refusal?.message;
  const words = host === undefined ? message : message && quote(message, Infinity);
  const who = host === undefined ? "Waypost" : `the server at ${host}`;
  const said = `${who} returned status ${status}${words === undefined ? "" : `: ${words}`}`;
  return { kind: "doubtful", reason: "overloaded", said, ...wait };
}

/** Whether the response came from another server or a proxy instead of the API. */
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

const leastWait_ms = 1000;
const mostWait_ms = 30_000;

/** A 503 means to wait, with or without `Retry-After`. */
function readRetryAfter({ headers }: ArrivingReply): number {
  const asked_ms = Number(headers["retry-after"] ?? 0) * 1000;
  const wait_ms = Number.isNaN(asked_ms) ? leastWait_ms : asked_ms;
  return Math.min(Math.max(wait_ms, leastWait_ms), mostWait_ms);
}

function explainThrown(error: unknown, { leaving }: Deadline): TryOutcome {
  if (error instanceof NotSent) return { kind: "unsent", error: failUnsent(error.cause) };
  if (leaving.aborted) {
    return { kind: "doubtful", reason: "timed_out", said: "the server did not respond in time" };
  }
  // The error may contain untrusted bytes from the server, so only its code is shown.
  const said = `the connection was lost${describeCode(error)}`;
  return { kind: "doubtful", reason: "unreachable", said };
}

/**
 * Reads a successful response of any server. A resource needs only an id. Fields with a wrong type
 * are dropped and become unknown, not empty. Unknown fields are kept.
 */

type ParsedResponse =
  | { readonly kind: "read"; readonly body: unknown }
  /** `found` describes the response, as the end of a sentence. */
  | { readonly kind: "unread"; readonly found: string };

function parseResponse(endpoint: Endpoint, input: JsonObject, body: unknown): ParsedResponse {
  const { response } = endpoint;
  if (response === null) return { kind: "read", body: null };
  if (response instanceof z.ZodObject) {
    const list = findList(response);
    if (list !== undefined) return readList(endpoint, list, input, body);
    if ("id" in response.shape) return readResource(endpoint, response, input, body);
  }
  const { success, data } = response.safeParse(body);
  return success ? { kind: "read", body: data } : unread(describeBody(body));
}

/** Describes a body that is not the expected response. */
function describeBody(body: unknown): string {
  if (body === null) return "an empty body";
  return body === undefined ? "no JSON" : "JSON that does not match this API";
}

function unread(found: string): ParsedResponse {
  return { kind: "unread", found };
}

function readResource(
  endpoint: Endpoint,
  schema: z.ZodObject,
  input: JsonObject,
  body: unknown,
): ParsedResponse {
  const read = readRecord(schema, body);
  if (read === undefined) return unread(describeBody(body));
  const { record, dropped } = read;
  if (answersTarget(endpoint)) {
    const isOther = normalizeId(String(record["id"])) !== normalizeId(String(input["id"]));
    if (isOther) return unread("with another id");
  } else {
    // An object with an id and only unknown fields comes from another API.
    const [, ...others] = Object.keys(record);
    const isKnown = others.some((name) => name !== "id" && name in schema.shape);
    if (others.length > 0 && !isKnown) return unread(describeBody(body));
  }
  const parts = dropped.map((field) => ({ field, message: `The server's ${field} ${wrongType}` }));
  return { kind: "read", body: noteUnread(record, parts) };
}

const wrongType = "has the wrong type";

type ListShape = { readonly name: string; readonly row: z.ZodObject };

/** Finds the property of a response that contains the list of resources. */
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
): ParsedResponse {
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
  const meta = endpoint.list && { meta: readMeta(body["meta"], input, given.length) };
  return { kind: "read", body: noteUnread({ ...body, [name]: rows, ...meta }, parts) };
}

type RecordWithDrops = { readonly record: JsonObject; readonly dropped: readonly string[] };

/** Returns undefined if the value is not an object or has no valid id. */
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

/** Some servers use numbers as ids. Waypost uses strings. */
const readableId = z.union([storedId, z.int().transform(String)]);

const count = z.int().nonnegative().optional().catch(undefined);
const pageMeta = z
  .looseObject({
    limit: z.int().positive().optional().catch(undefined),
    count,
    last: count,
    from: count,
    to: count,
    previous: count,
    next: count,
  })
  .catch({});

/**
 * Determines whether a list has another page. Without that information in `meta`, a full page has a
 * next one. An empty page is always the last one, so that no reader loops forever.
 */
function readMeta(given: unknown, input: JsonObject, shown: number): ReceivedMeta {
  const { limit: said, next, ...rest } = pageMeta.parse(given);
  const page = Number(input["page"] ?? 1);
  const asked = Number(input["limit"] ?? said ?? paging.default_limit);
  const limit = said === undefined || said < shown ? undefined : Math.min(said, asked);
  const isMore = () => {
    if (next !== undefined && next > page) return true;
    if (rest.last !== undefined) return rest.last > page;
    if (rest.count !== undefined) return rest.count > page * (limit ?? shown);
    return shown >= (limit ?? asked);
  };
  return {
    ...rest,
    page,
    ...(limit !== undefined && { limit }),
    ...(shown > 0 && isMore() && { next: page + 1 }),
  };
}

/** A server can send a header of any length, so these limit how much is read. */
const mostRead = 4000;
const mostWarnings = 5;
const mostCharacters = 500;

/**
 * Adds the texts of a `Warning` header (RFC 7234, section 5.5) to the problems of the response.
 * Only the form `299 name "text"` is read.
 */
function noteWarnings(body: unknown, header = "", secret?: string): void {
  if (typeof body !== "object" || body === null) return;
  const quoted = /(?:^|,)\s*\d{3} [^\s",]+ "((?:[^"\\]|\\.)*)"/g;
  const texts = [...header.slice(0, mostRead).matchAll(quoted)]
    .map(([, text = ""]) => hideSecret(text.replace(/\\(.)/g, "$1"), secret).trim())
    .filter((text) => text !== "");
  const warnings = [...new Set(texts)].slice(0, mostWarnings).map((text) => {
    return { message: describeWarning(text) };
  });
  noteUnread(body, [...listUnread(body), ...warnings]);
}

export function describeWarning(text: string): string {
  return `The server warned: ${quote(text, mostCharacters)}`;
}
