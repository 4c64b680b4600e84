import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { meta, type ReadMeta } from "../../contract/fields.ts";
import type { JsonObject } from "../../contract/json.ts";
import { findKind, nameResult } from "../../contract/resource-kind.ts";
import { listUnread } from "../../contract/unread.ts";
import type { CallProblem } from "./call-problem.ts";
import {
  describeAddress,
  dropEmpty,
  dropIn,
  presentLink,
  presentLinkRow,
  presentWrittenLink,
  type LinkReading,
} from "./present-link.ts";

/** What the deployment answered, as the assistant gets it (design.md, "Tools"). */

export type Reading = LinkReading & {
  /** The fields that a list was asked for by its filters and its order. */
  readonly asked?: readonly string[];
  /** Of a write, the fields that were sent. */
  readonly sent?: readonly string[];
};

const nothingMore: Reading = { linkHost: undefined, apps: new Map() };

export function presentBody(
  endpoint: Endpoint,
  body: JsonObject,
  reading: Reading = nothingMore,
): JsonObject {
  const problems = listProblems(body);
  return {
    ...presentRead(endpoint, body, reading),
    ...(problems.length > 0 && { problems }),
  };
}

/** Enough to know what is the matter with a whole page. */
const mostProblems = 20;

/** What could not be read, each with its place. */
function listProblems(body: JsonObject): readonly CallProblem[] {
  const unread = listUnread(body);
  const problems = unread.slice(0, mostProblems).map(({ row: _row, ...problem }) => problem);
  const more = unread.length - problems.length;
  return more > 0 ? [...problems, { message: `and ${more} more could not be read` }] : problems;
}

function presentRead(endpoint: Endpoint, body: JsonObject, reading: Reading): JsonObject {
  const kind = findKind(endpoint);
  if (endpoint.list !== undefined) return presentPage(endpoint, body, reading);
  const name = nameResult(endpoint, kind);
  if (name === undefined) return pickMembers(endpoint, body);
  if (endpoint.type !== undefined) return { [name]: body };
  // A write may be done although nobody knows to what.
  if (typeof body["id"] !== "string") return {};
  if (kind.name !== "link") return { [name]: dropEmpty(body) };
  const { sent } = reading;
  return { [name]: sent ? presentWrittenLink(body, sent, reading) : presentLink(body, reading) };
}

/** What a deployment adds to an envelope is not for a result, whose members have meanings. */
function pickMembers({ response }: Endpoint, body: JsonObject): JsonObject {
  const known = response instanceof z.ZodObject ? Object.keys(response.shape) : [];
  return Object.fromEntries(known.map((name) => [name, dropIn(body[name])]));
}

/** The rows of a list's body, which the client has read by the entry's schema. */
export function readListRows({ list }: Endpoint, body: JsonObject): readonly JsonObject[] {
  return body[list?.name ?? ""] as readonly JsonObject[];
}

function presentPage(endpoint: Endpoint, body: JsonObject, reading: Reading): JsonObject {
  const { linkHost, asked = [] } = reading;
  const isOfLinks = findKind(endpoint).name === "link";
  const rows = readListRows(endpoint, body);
  const shown = rows.map((row) =>
    isOfLinks ? presentLinkRow(row, asked, reading) : dropEmpty(row),
  );
  // The client answers a `meta` with every list.
  const counted = pickMeta(body["meta"] as ReadMeta);
  const next = describeRest(endpoint.tool, counted);
  return {
    ...(isOfLinks && linkHost !== undefined && { address: describeAddress(linkHost) }),
    [endpoint.list?.name ?? ""]: shown,
    meta: counted,
    ...(next !== undefined && { next }),
  };
}

/** api-spec.md, "Pagination envelope": only these members may be relied on. */
function pickMeta(given: ReadMeta): ReadMeta {
  const known = Object.entries(given).filter(([name]) => Object.hasOwn(meta.shape, name));
  return dropEmpty(Object.fromEntries(known));
}

function describeRest(tool: string, { page, last, count, next }: ReadMeta): string | undefined {
  if (typeof next === "number") {
    const pages = typeof last === "number" ? `Page ${page} of ${last}` : `Page ${page}`;
    return `${pages}: call ${tool} with page ${next} for more.`;
  }
  if (count === 0) return "Nothing matches. Try fewer or other filters.";
  return typeof page === "number" && typeof last === "number" && page > last
    ? `There ${last === 1 ? "is 1 page" : `are ${last} pages`}; call ${tool} with page 1.`
    : undefined;
}
