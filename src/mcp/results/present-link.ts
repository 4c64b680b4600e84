import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { writeAddress } from "../../contract/rules/link-address.ts";
import { isBlank } from "../../contract/text.ts";

/** A link as a person reads it: by its names and addresses, and its apps by theirs. */

/** What is known of the apps on links, by their ids. */
export type KnownApps = ReadonlyMap<string, JsonObject>;

type LinkHost = string | undefined;

export type LinkReading = {
  readonly linkHost: LinkHost;
  readonly apps: KnownApps;
};

/** A link among others, as far as it has these members. */
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

/** The fields that tell an app from another, the best first. */
const appKeys = { ios_app: "bundle_id", android_app: "package_name" } as const;

/** Where a visitor of the link arrives; what it is told by in the link's own record. */
const destinations = ["url", "ios_fallback_url", "android_fallback_url"] as const;

/**
 * A link among others. `asked` are the fields that the list was asked for by a filter or its order:
 * without them, whoever asked could not tell what was found.
 */
export function presentLinkRow(
  link: JsonObject,
  asked: readonly string[],
  { linkHost, apps }: LinkReading,
): JsonObject {
  const { path } = link;
  const destination = findDestination(link);
  const known = { ...link, ...nameIdentifiers(link, apps) };
  return dropEmpty({
    ...pick(link, ["id", "name", "path"]),
    ...(isSpelled(path, linkHost) ? {} : writeAddresses({ path }, linkHost)),
    destination,
    ...pick(link, ["clicks"]),
    ...nameApps(link, apps),
    ...pick(
      known,
      asked.filter((field) => known[field] !== destination),
    ),
  });
}

/** A link that was written: as among others, with its addresses and the fields that were sent. */
export function presentWrittenLink(
  link: JsonObject,
  sent: readonly string[],
  { linkHost, apps }: LinkReading,
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

/** One link, with all that is set on it. */
export function presentLink(link: JsonObject, { linkHost, apps }: LinkReading): JsonObject {
  // A deployment that answers the apps themselves has told more than their names. The id stands
  // first, for to build an object upon a small one costs V8 more than the rest of the call.
  const { id } = link;
  return dropEmpty({ id, ...nameApps(link, apps), ...link, ...writeAddresses(link, linkHost) });
}

/** How the address of every link of a list is made of its path, told once for all of them. */
export function describeAddress(linkHost: string): string {
  return `${linkHost}/{path}`;
}

/** Whether the address is the host and the path, letter for letter. */
function isSpelled(path: unknown, linkHost: LinkHost): boolean {
  return (
    typeof path === "string" &&
    linkHost !== undefined &&
    writeAddress(linkHost, path) === `${linkHost}/${path}`
  );
}

function writeAddresses({ path, shortened_path }: JsonObject, linkHost: LinkHost): JsonObject {
  if (linkHost === undefined) return {};
  return {
    ...(typeof path === "string" && { address: writeAddress(linkHost, path) }),
    ...(typeof shortened_path === "string" && {
      short_address: writeAddress(linkHost, shortened_path),
    }),
  };
}

/** By its name where that is known; else by the id, which is all that the answer tells. */
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

/** A link is found by its app's identifier, which stands in the app. */
function nameIdentifiers(link: JsonObject, apps: KnownApps): JsonObject {
  const named = appFields.flatMap((field) => {
    const key = appKeys[field];
    const identifier = findApp(link, field, apps)?.[key];
    return identifier === undefined ? [] : [[`${field}_${key}`, identifier]];
  });
  return Object.fromEntries(named);
}

/** A deployment may answer a link with its apps in it. */
function findApp(link: JsonObject, field: AppField, apps: KnownApps): JsonObject | undefined {
  const nested = link[field];
  if (isJsonObject(nested)) return nested;
  const id = link[`${field}_id`];
  return typeof id === "string" ? apps.get(id) : undefined;
}

/**
 * A record without the members that say nothing: what is not there is empty or false, and a model
 * pays for every word. The items of a list stay, for each has its place.
 */
export function dropEmpty(record: JsonObject, levels = mostLevels): JsonObject {
  const kept: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(record)) {
    const value = dropIn(given, levels - 1);
    // To set this one would set what the record inherits from.
    if (!isEmpty(value) && name !== "__proto__") kept[name] = value;
  }
  return kept;
}

/** The same within any value. */
export function dropIn(value: unknown, levels = mostLevels): unknown {
  if (levels === 0) return value;
  if (Array.isArray(value)) return value.map((item) => dropIn(item, levels - 1));
  return isJsonObject(value) ? dropEmpty(value, levels) : value;
}

/** Deeper than anything that the API answers; what a deployment adds may be deeper. */
const mostLevels = 8;

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
