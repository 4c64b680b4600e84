import type { Endpoint } from "../../contract/endpoint.ts";
import { meta, type Meta } from "../../contract/fields.ts";
import type { JsonObject } from "../../contract/json.ts";
import { findKind, nameResult } from "../../contract/resource-kind.ts";
import { writeAddress } from "../../contract/rules/link-address.ts";

/** What the deployment answered, as the assistant gets it (design.md, "Tools"). */

type LinkHost = string | undefined;

export function presentBody(endpoint: Endpoint, body: JsonObject, linkHost: LinkHost): JsonObject {
  const kind = findKind(endpoint);
  if (endpoint.list !== undefined) return presentPage(endpoint, body, linkHost);
  const name = nameResult(endpoint, kind);
  return name === undefined ? body : { [name]: addAddress(kind.name, body, linkHost) };
}

/** The rows of a list's body, which the client has parsed by the entry's schema. */
export function readListRows({ list }: Endpoint, body: JsonObject): readonly JsonObject[] {
  return body[list?.name ?? ""] as readonly JsonObject[];
}

/** A page without fields that are not set: a model pays for every null. */
function presentPage(endpoint: Endpoint, body: JsonObject, linkHost: LinkHost): JsonObject {
  const { name } = findKind(endpoint);
  const rows = readListRows(endpoint, body).map((row) =>
    dropNulls(addAddress(name, row, linkHost)),
  );
  // The entry's schema has the envelope's `meta` in every list.
  const counted = pickMeta(body["meta"] as Meta);
  const next = describeRest(endpoint.tool, counted);
  return { [endpoint.list?.name ?? ""]: rows, meta: counted, ...(next !== undefined && { next }) };
}

/** api-spec.md, "Pagination envelope": only these members may be relied on. */
function pickMeta(given: Meta): Meta {
  const known = Object.entries(given).filter(([name]) => name in meta.shape);
  // The schema's required members are not null; optional ones may be left out.
  return dropNulls(Object.fromEntries(known)) as Meta;
}

function describeRest(tool: string, { page, last, count, next }: Meta): string | undefined {
  if (typeof next === "number") {
    return `Page ${page} of ${last}: call ${tool} with page ${next} for more.`;
  }
  if (count === 0) return "Nothing matches; fewer or other filters may find it.";
  return page > last ? `There are ${last} pages; call ${tool} with page 1.` : undefined;
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
