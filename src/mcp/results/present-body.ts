import * as z from "zod";
import { type Endpoint, listUnread } from "../../contract/endpoint.ts";
import { meta, type ReceivedMeta } from "../../contract/fields.ts";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { findKind, nameResult } from "../../contract/resource-kind.ts";
import { writeAddress } from "../../contract/rules/link-path.ts";
import { isBlank } from "../../contract/text.ts";
import type { CallProblem } from "./call-problem.ts";

/**
 * Converts API responses to tool results. Links get full URLs, and app names instead of app IDs.
 */

export type KnownApps = ReadonlyMap<string, JsonObject>;

export type PresentationContext = {
  readonly linkHost: string | undefined;
  readonly apps: KnownApps;
  /** The fields that a list is filtered or sorted by. */
  readonly asked?: readonly string[];
  /** The fields that the caller sent with a write. */
  readonly sent?: readonly string[];
};

export function presentBody(
  endpoint: Endpoint,
  body: JsonObject,
  reading: PresentationContext = { linkHost: undefined, apps: new Map() },
): JsonObject {
  const problems = listProblems(body);
  return {
    ...presentRead(endpoint, body, reading),
    ...(problems.length > 0 && { problems }),
  };
}

const mostProblems = 20;

/** Lists the values of the response that could not be parsed, with their positions. */
function listProblems(body: JsonObject): readonly CallProblem[] {
  const unread = listUnread(body);
  const problems = unread.slice(0, mostProblems).map(({ row: _row, ...problem }) => problem);
  const more = unread.length - problems.length;
  return more > 0 ? [...problems, { message: `and ${more} more could not be read` }] : problems;
}

function presentRead(
  endpoint: Endpoint,
  body: JsonObject,
  reading: PresentationContext,
): JsonObject {
  const kind = findKind(endpoint);
  if (endpoint.list !== undefined) return presentPage(endpoint, body, reading);
  const name = nameResult(endpoint, kind);
  if (name === undefined) return pickMembers(endpoint, body);
  if (endpoint.type !== undefined) return { [name]: body };
  if (typeof body["id"] !== "string") return {};
  if (kind.name !== "link") return { [name]: dropEmpty(body) };
  const isWritten = reading.sent !== undefined;
  return { [name]: isWritten ? presentWrittenLink(body, reading) : presentLink(body, reading) };
}

/** Drops properties that a remote server adds, because they could be mistaken for Waypost's own. */
function pickMembers({ response }: Endpoint, body: JsonObject): JsonObject {
  const known = response instanceof z.ZodObject ? Object.keys(response.shape) : [];
  return Object.fromEntries(known.map((name) => [name, dropIn(body[name])]));
}

/** The API client has already validated the rows with the endpoint's schema. */
export function readListRows({ list }: Endpoint, body: JsonObject): readonly JsonObject[] {
  return body[list?.name ?? ""] as readonly JsonObject[];
}

function presentPage(
  endpoint: Endpoint,
  body: JsonObject,
  reading: PresentationContext,
): JsonObject {
  const { linkHost } = reading;
  const isOfLinks = findKind(endpoint).name === "link";
  const rows = readListRows(endpoint, body);
  const shown = rows.map((row) => (isOfLinks ? presentLinkRow(row, reading) : dropEmpty(row)));
  // The API client adds `meta` to every list.
  const counted = pickMeta(body["meta"] as ReceivedMeta);
  const next = describeNextPage(endpoint.tool, counted);
  return {
    // The pattern of the links' URLs is included once per list instead of in every row.
    ...(isOfLinks && linkHost !== undefined && { address: `${linkHost}/{path}` }),
    [endpoint.list?.name ?? ""]: shown,
    meta: counted,
    ...(next !== undefined && { next }),
  };
}

function pickMeta(given: ReceivedMeta): ReceivedMeta {
  const known = Object.entries(given).filter(([name]) => Object.hasOwn(meta.shape, name));
  return dropEmpty(Object.fromEntries(known));
}

function describeNextPage(
  tool: string,
  { page, last, count, next }: ReceivedMeta,
): string | undefined {
  if (typeof next === "number") {
    const pages = typeof last === "number" ? `Page ${page} of ${last}` : `Page ${page}`;
    return `${pages}: call ${tool} with page ${next} for more.`;
  }
  if (count === 0) return "Nothing matches. Try fewer or other filters.";
  return typeof page === "number" && typeof last === "number" && page > last
    ? `There ${last === 1 ? "is 1 page" : `are ${last} pages`}; call ${tool} with page 1.`
    : undefined;
}

/** A link in a list. Only its id is always present. */
export const linkRow = z
  .looseObject({
    id: z.string(),
    name: z.string().optional(),
    path: z.string().optional(),
    address: z.string().optional(),
    destination: z.string().optional(),
    clicks: z.int().optional(),
    ios_app: z.string().optional(),
    android_app: z.string().optional(),
  })
  .describe("Empty and false fields left out; address only if unlike the list's");

export const appFields = ["ios_app", "android_app"] as const;
type AppField = (typeof appFields)[number];

export function hasApp(link: JsonObject): boolean {
  return appFields.some((field) => typeof link[`${field}_id`] === "string");
}

const appKeys = { ios_app: "bundle_id", android_app: "package_name" } as const;

/** The first of these fields with a value is shown as the link's destination. */
const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;

/** Formats a link in a list, including the fields that the list was filtered or sorted by. */
function presentLinkRow(
  link: JsonObject,
  { linkHost, apps, asked = [] }: PresentationContext,
): JsonObject {
  const { path } = link;
  const destination = findDestination(link);
  const known = { ...link, ...nameIdentifiers(link, apps) };
  return dropEmpty({
    ...pick(link, ["id", "name", "path"]),
    ...(isUnencoded(path, linkHost) ? {} : writeAddresses({ path }, linkHost)),
    destination,
    ...pick(link, ["clicks"]),
    ...nameApps(link, apps),
    ...pick(
      known,
      asked.filter((field) => known[field] !== destination),
    ),
  });
}

/**
 * Formats a created or changed link like a row of a list, with its URLs and the fields that were
 * sent.
 */
function presentWrittenLink(
  link: JsonObject,
  { linkHost, apps, sent = [] }: PresentationContext,
): JsonObject {
  const destination = findDestination(link);
  const isSent = sent.some((field) => link[field] === destination);
  return dropEmpty({
    ...pick(link, ["id", "name", "path", "shortened_path"]),
    ...writeAddresses(link, linkHost),
    ...(isSent ? {} : { destination }),
    ...pick(link, ["clicks", "ios_app_id", "android_app_id"]),
    ...nameApps(link, apps),
    ...pick(
      link,
      sent.filter((field) => link[field] !== undefined && !isJsonObject(link[field])),
    ),
  });
}

function findDestination(link: JsonObject): unknown {
  return destinations.map((field) => link[field]).find((value) => !isBlank(value));
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}

/** Formats a single link with all its nonempty fields. */
function presentLink(link: JsonObject, { linkHost, apps }: PresentationContext): JsonObject {
  // The ID comes first only for speed: V8 is slow to spread a large object into a small one.
  const { id } = link;
  return dropEmpty({ id, ...nameApps(link, apps), ...link, ...writeAddresses(link, linkHost) });
}

/** Whether the URL is exactly host and path, without percent-encoding. */
function isUnencoded(path: unknown, linkHost: string | undefined): boolean {
  return (
    typeof path === "string" &&
    linkHost !== undefined &&
    writeAddress(linkHost, path) === `${linkHost}/${path}`
  );
}

function writeAddresses(
  { path, shortened_path }: JsonObject,
  linkHost: string | undefined,
): JsonObject {
  if (linkHost === undefined) return {};
  return {
    ...(typeof path === "string" && { address: writeAddress(linkHost, path) }),
    ...(typeof shortened_path === "string" && {
      short_address: writeAddress(linkHost, shortened_path),
    }),
  };
}

function nameApps(link: JsonObject, apps: KnownApps): JsonObject {
  const named: Record<string, unknown> = {};
  for (const field of appFields) {
    const app = findApp(link, field, apps);
    const name = [app?.["name"], app?.[appKeys[field]]].find((text) => !isBlank(text));
    if (name === undefined) named[`${field}_id`] = link[`${field}_id`];
    else named[field] = name;
  }
  return named;
}

/** Returns the identifiers of the link's apps, keyed by the names of the list filters. */
function nameIdentifiers(link: JsonObject, apps: KnownApps): JsonObject {
  const named = appFields.flatMap((field) => {
    const key = appKeys[field];
    const identifier = findApp(link, field, apps)?.[key];
    return identifier === undefined ? [] : [[`${field}_${key}`, identifier]];
  });
  return Object.fromEntries(named);
}

/** Finds an app's record, which some servers embed in the link. */
function findApp(link: JsonObject, field: AppField, apps: KnownApps): JsonObject | undefined {
  const nested = link[field];
  if (isJsonObject(nested)) return nested;
  const id = link[`${field}_id`];
  return typeof id === "string" ? apps.get(id) : undefined;
}

/**
 * Drops empty and false properties, to save tokens. List items stay, because their position
 * matters.
 */
export function dropEmpty(record: JsonObject, levels = mostLevels): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(record)) {
    const value = dropIn(given, levels - 1);
    // Assigning `__proto__` would change the object's prototype.
    if (!isEmpty(value) && name !== "__proto__") kept[name] = value;
  }
  return kept;
}

function dropIn(value: unknown, levels = mostLevels): unknown {
  if (levels === 0) return value;
  if (Array.isArray(value)) return value.map((item) => dropIn(item, levels - 1));
  return isJsonObject(value) ? dropEmpty(value, levels) : value;
}

/**
 * The maximum depth to process. API responses are shallower, but a remote server may add deeper
 * fields.
 */
const mostLevels = 8;

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
