import * as z from "zod";
import type { Endpoint } from "../../contract/endpoint.ts";
import { describeDeviation, listUnread } from "../../contract/deviations.ts";
import { meta, type ReadMeta } from "../../contract/fields.ts";
import type { JsonObject } from "../../contract/json.ts";
import { findKind, nameResult } from "../../contract/resource-kind.ts";
import { writeAddress } from "../../contract/rules/link-address.ts";
import type { CallProblem } from "./call-problem.ts";

/** What the deployment answered, as the assistant gets it (design.md, "Tools"). */

type LinkHost = string | undefined;

export function presentBody(endpoint: Endpoint, body: JsonObject, linkHost: LinkHost): JsonObject {
  const problems = listProblems(endpoint, body);
  return {
    ...presentRead(endpoint, body, linkHost),
    ...(problems.length > 0 && { problems }),
  };
}

/** Enough to know what is the matter with a whole page. */
const mostProblems = 20;

/** What could not be read, each with its place. */
function listProblems(endpoint: Endpoint, body: JsonObject): readonly CallProblem[] {
  const unread = listUnread(body);
  const problems = unread.slice(0, mostProblems).map((deviation): CallProblem => {
    const { field, row } = deviation;
    const message = describeDeviation(endpoint, deviation);
    if (field !== undefined) return { field, message };
    return { message: row === undefined ? `${accepted}: ${message}` : message };
  });
  const more = unread.length - problems.length;
  return more > 0 ? [...problems, { message: `and ${more} more could not be read` }] : problems;
}

const accepted = "The deployment has done it, but what became of it could not be read";

function presentRead(endpoint: Endpoint, body: JsonObject, linkHost: LinkHost): JsonObject {
  const kind = findKind(endpoint);
  if (endpoint.list !== undefined) return presentPage(endpoint, body, linkHost);
  const name = nameResult(endpoint, kind);
  if (name === undefined) return pickMembers(endpoint, body);
  // A write may be done although nobody knows to what.
  const isNamed = endpoint.type !== undefined || typeof body["id"] === "string";
  return isNamed ? { [name]: addAddress(kind.name, body, linkHost) } : {};
}

/** What a deployment adds to an envelope is not for a result, whose members have meanings. */
function pickMembers({ response }: Endpoint, body: JsonObject): JsonObject {
  const known = response instanceof z.ZodObject ? Object.keys(response.shape) : [];
  return Object.fromEntries(known.map((name) => [name, body[name]]));
}

/** The rows of a list's body, which the client has read by the entry's schema. */
export function readListRows({ list }: Endpoint, body: JsonObject): readonly JsonObject[] {
  return body[list?.name ?? ""] as readonly JsonObject[];
}

/** A page without fields that are not set: a model pays for every null. */
function presentPage(endpoint: Endpoint, body: JsonObject, linkHost: LinkHost): JsonObject {
  const { name } = findKind(endpoint);
  const rows = readListRows(endpoint, body).map((row) =>
    dropNulls(addAddress(name, row, linkHost)),
  );
  // The client answers a `meta` with every list.
  const counted = pickMeta(body["meta"] as ReadMeta);
  const next = describeRest(endpoint.tool, counted);
  return { [endpoint.list?.name ?? ""]: rows, meta: counted, ...(next !== undefined && { next }) };
}

/** api-spec.md, "Pagination envelope": only these members may be relied on. */
function pickMeta(given: ReadMeta): ReadMeta {
  const known = Object.entries(given).filter(([name]) => Object.hasOwn(meta.shape, name));
  return dropNulls(Object.fromEntries(known));
}

function describeRest(tool: string, { page, last, count, next }: ReadMeta): string | undefined {
  if (typeof next === "number") {
    const pages = typeof last === "number" ? `Page ${page} of ${last}` : `Page ${page}`;
    return `${pages}: call ${tool} with page ${next} for more.`;
  }
  if (count === 0) return "Nothing matches; fewer or other filters may find it.";
  return typeof page === "number" && typeof last === "number" && page > last
    ? `There are ${last} pages; call ${tool} with page 1.`
    : undefined;
}

function addAddress(name: string, row: JsonObject, linkHost: LinkHost): JsonObject {
  if (name !== "link" || linkHost === undefined) return row;
  const { path, shortened_path } = row;
  return {
    ...row,
    ...(typeof path === "string" && { address: writeAddress(linkHost, path) }),
    ...(typeof shortened_path === "string" && {
      short_address: writeAddress(linkHost, shortened_path),
    }),
  };
}

function dropNulls(row: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => (value ?? null) !== null));
}
