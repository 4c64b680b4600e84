import * as z from "zod";
import type { Endpoint } from "../contract/endpoint.ts";
import { normalizeId, storedId, unwrap, type ReceivedMeta } from "../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { paging } from "../contract/limits.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { noteUnread, type UnreadPart } from "../contract/server-answer.ts";

/**
 * Reads a successful response of any server. A resource needs only its id. Fields of a wrong type
 * are dropped, and count as unknown, not as empty. Unknown fields are kept.
 */

export type ReadAnswer =
  | { readonly kind: "read"; readonly body: unknown }
  /** `found` describes the response, as the end of a sentence. */
  | { readonly kind: "unread"; readonly found: string };

export function readAnswer(endpoint: Endpoint, input: JsonObject, body: unknown): ReadAnswer {
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
export function describeBody(body: unknown): string {
  if (body === null) return "an empty body";
  return body === undefined ? "no JSON" : "JSON that does not match this API";
}

function unread(found: string): ReadAnswer {
  return { kind: "unread", found };
}

function readResource(
  endpoint: Endpoint,
  schema: z.ZodObject,
  input: JsonObject,
  body: unknown,
): ReadAnswer {
  const read = readRecord(schema, body);
  if (read === undefined) return unread(describeBody(body));
  const { record, dropped } = read;
  if (answersTarget(endpoint)) {
    const isOther = normalizeId(String(record["id"])) !== normalizeId(String(input["id"]));
    if (isOther) return unread("with another id");
  } else {
    // An object with an id and only unknown fields is not a resource of this API.
    const [, ...others] = Object.keys(record);
    const isKnown = others.some((name) => name !== "id" && name in schema.shape);
    if (others.length > 0 && !isKnown) return unread(describeBody(body));
  }
  const parts = dropped.map((field) => ({ field, message: `The server's ${field} ${wrongType}` }));
  return { kind: "read", body: noteUnread(record, parts) };
}

const wrongType = "has the wrong type";

type ListShape = { readonly name: string; readonly row: z.ZodObject };

/** The member of a response that contains an array of resources. */
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
): ReadAnswer {
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

/** Undefined if the value is not an object or has no usable id. */
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

/** Some servers number their resources. In Waypost, ids are texts. */
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
 * Finds out whether a list has another page. If `meta` does not say so, a full page has a next one.
 * An empty page is the end and a next page always has a higher number, so no reader loops forever.
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

/** Warnings of a server (RFC 7234, section 5.5), stored outside the response. */
const warnings = new WeakMap<object, readonly string[]>();

/** Limits, because a server can send a header of any length. */
const mostRead = 4000;
const mostWarnings = 5;
const mostCharacters = 500;

/**
 * Reads the texts of `299 name "text"`, also several separated by commas. Other forms are ignored.
 */
export function noteWarnings(
  body: unknown,
  header: string | undefined,
  /** Hides the key, which a server may repeat. */
  hide: (text: string) => string,
): void {
  if (header === undefined || typeof body !== "object" || body === null) return;
  const quoted = /(?:^|,)\s*\d{3} [^\s",]+ "((?:[^"\\]|\\.)*)"/g;
  const texts = [...header.slice(0, mostRead).matchAll(quoted)]
    .map(([, text = ""]) => hide(text.replace(/\\(.)/g, "$1")).trim())
    .filter((text) => text !== "")
    .map((text) => text.slice(0, mostCharacters).toWellFormed())
    .slice(0, mostWarnings);
  if (texts.length > 0) warnings.set(body, texts);
}

/** The warnings that came with this response. */
export function listWarnings(body: unknown): readonly string[] {
  return typeof body === "object" && body !== null ? (warnings.get(body) ?? []) : [];
}
