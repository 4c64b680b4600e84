import * as z from "zod";
import type { Endpoint } from "../contract/endpoint.ts";
import { normalizeId, type ReadMeta } from "../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { answersTarget } from "../contract/resource-kind.ts";
import { completeMeta } from "./complete-meta.ts";
import {
  describeFound,
  listUnread,
  listUnreadRows,
  noteDeviations,
  type Deviation,
} from "../contract/deviations.ts";
import { readRecord } from "./read-record.ts";

/**
 * What a 2xx answered, read by its entry's schema. Where the answer is as the specification has it,
 * that is all. Else everything is read that can be: of a resource only its id is needed, and of a
 * list the rows that have one. What is not as it should be is noted with what was read.
 */
export type ReadAnswer =
  | { readonly kind: "read"; readonly body: unknown }
  /** It does not tell what it is about: enough for a write, which is done, and not for a read. */
  | Unread;

export type Unread = {
  readonly kind: "unread";
  /** What of it could be read all the same. */
  readonly body: JsonObject;
  /** What it is instead, as the end of a sentence. */
  readonly found: string;
};

export function readAnswer(endpoint: Endpoint, input: JsonObject, body: unknown): ReadAnswer {
  const { response } = endpoint;
  // Of what was deleted nothing is left to tell; but a page is none of the API's answers.
  if (response === null) {
    return body === undefined ? unread(describeBody(body)) : { kind: "read", body: null };
  }
  const parsed = response.safeParse(body);
  const answer = parsed.success
    ? ({ kind: "read", body: parsed.data } as const)
    : readTolerantly(endpoint, body);
  if (answer.kind === "unread") return answer;
  if (endpoint.list !== undefined) return completePage(endpoint.list.name, input, answer.body);
  return isOther(endpoint, input, answer.body) ? unread("with another id") : answer;
}

/** The place of `meta` is that of every list; an answer as it was read is an object. */
function completePage(name: string, input: JsonObject, body: unknown): ReadAnswer {
  const page = body as JsonObject & { readonly meta?: ReadMeta };
  const shown = countShown(name, page);
  const meta = completeMeta(page.meta ?? {}, input, shown);
  return { kind: "read", body: noteDeviations({ ...page, meta }, listUnread(page)) };
}

/** An answer about another resource than the one asked for. */
function isOther(endpoint: Endpoint, input: JsonObject, body: unknown): boolean {
  if (!answersTarget(endpoint)) return false;
  const { id } = body as { readonly id: string };
  return normalizeId(id) !== normalizeId(String(input["id"]));
}

function readTolerantly({ response, effect }: Endpoint, body: unknown): ReadAnswer {
  const isSchema = response instanceof z.ZodObject;
  if (!isSchema || !isJsonObject(body)) return unread(describeBody(body));
  if (!("id" in response.shape)) return readList(response.shape, body);
  const { record, deviations, hasId } = readRecord(response.shape, body);
  const noted = noteDeviations(record, deviations);
  const isTold = Object.keys(response.shape).some((name) => name !== "id" && name in record);
  if (!hasId && !isTold) return unread(describeBody(body));
  if (!hasId) return { kind: "unread", body: noted, found: "without an id" };
  // The id of something else is no use to a write: what that has become is looked for.
  const isOfOther = !isTold && Object.keys(body).length > 1;
  if (effect !== "read" && isOfOther) return unread(describeBody(body));
  return { kind: "read", body: noted };
}

/** The envelope: one list of resources, and `meta` beside it where there are pages. */
function readList(shape: z.ZodObject["shape"], body: JsonObject): ReadAnswer {
  const [name = "", schema] =
    Object.entries(shape).find(([, member]) => member instanceof z.ZodArray) ?? [];
  const given = body[name];
  // Sums are no list: of them nothing is told unless all is.
  if (!(schema instanceof z.ZodArray) || !Array.isArray(given)) return unread(describeBody(body));
  // Every list of the contract is one of resources.
  const row = schema.element as z.ZodObject;
  const deviations: Deviation[] = [];
  const rows = given.flatMap((item: unknown, place) => {
    const read = readRow(row, item);
    deviations.push(...read.deviations.map((deviation) => ({ ...deviation, row: place })));
    return read.rows;
  });
  const { meta, ...rest } = body;
  const read = shape["meta"] instanceof z.ZodObject ? readMeta(shape["meta"], meta) : undefined;
  const whole = { ...rest, [name]: rows, ...(read && { meta: read.record }) };
  const all = [...deviations, ...(read?.deviations ?? [])];
  return { kind: "read", body: noteDeviations(whole, all) };
}

type ReadRow = { readonly rows: readonly object[]; readonly deviations: readonly Deviation[] };

function readRow({ shape }: z.ZodObject, item: unknown): ReadRow {
  if (!isJsonObject(item)) return dropRow(describeFound(item));
  const { record, deviations, hasId } = readRecord(shape, item);
  if (!hasId) return dropRow("without an id");
  return { rows: [noteDeviations(record, deviations)], deviations };
}

function dropRow(found: string): ReadRow {
  return { rows: [], deviations: [{ found }] };
}

function readMeta({ shape }: z.ZodObject, meta: unknown) {
  if (isJsonObject(meta)) return readRecord(shape, meta, "meta.");
  return { record: {}, deviations: [] };
}

/** Rows that could not be read are on the page all the same. */
function countShown(name: string, page: JsonObject): number {
  const { length } = page[name] as readonly unknown[];
  return length + listUnreadRows(page).length;
}

function unread(found: string): Unread {
  return { kind: "unread", body: {}, found };
}

/** A body that is not what was asked for. */
export function describeBody(body: unknown): string {
  if (body === null) return "an empty body";
  return body === undefined ? "no JSON" : "JSON that does not match this API";
}
