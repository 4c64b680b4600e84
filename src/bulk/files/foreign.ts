import { isNestedTooDeep } from "../../contract/json.ts";
import type { LinkFields } from "../../contract/links.ts";
import { readUrl } from "../../contract/rules/web-address.ts";
import { isBlank } from "../../contract/text.ts";
import { quoteLine } from "../../text/show-hidden.ts";
import { readFlag, setField, type GivenRow } from "./columns.ts";

/**
 * Files of other services, as tables of the names that our fields have there. All names are written
 * as `simplifyName` does; of several names for one field, the first that has a value counts.
 */

export type Format = {
  readonly title: string;
  /** A file is from there where it has one name of each list. */
  readonly signs: readonly (readonly string[])[];
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /** Addresses that end in the path, which may repeat each other. */
  readonly addresses: readonly string[];
  /** Where the campaign goes: into the destination, or to Google Play as the referrer. */
  readonly campaign?: "url" | "referrer";
  /** Names of an app's own data, which may look like the service's. */
  readonly foreign?: RegExp;
};

const list = (names: string): readonly string[] => names.split(" ");

export const formats: readonly Format[] = [
  {
    // The CSV of Google Takeout, and the `dynamicLinkInfo` of the API.
    title: "Firebase Dynamic Links",
    signs: [
      ["link", "deeplink"],
      list("shortlink dynamiclink domainuriprefix apn ibi isi afl ifl ofl efr"),
    ],
    fields: {
      name: ["linkname", "name"],
      // On a desktop, `ofl` goes before the deep link, which then only the app would see.
      url: ["ofl", "desktopfallbacklink", "link", "deeplink"],
      social_title: ["st", "socialtitle"],
      social_description: ["sd", "socialdescription"],
      social_image_url: ["si", "socialimagelink"],
      ios_fallback_url: ["ifl", "iosfallbacklink"],
      android_fallback_url: ["afl", "androidfallbacklink"],
      enable_forced_redirect: ["efr", "enableforcedredirect"],
      provider_token: ["pt", "itunesconnectpt"],
      campaign_token: ["ct", "itunesconnectct"],
      "ios_app.bundle_id": ["ibi", "iosbundleid"],
      "ios_app.app_store_id": ["isi", "iosappstoreid"],
      "android_app.package_name": ["apn", "androidpackagename"],
    },
    addresses: ["shortlink", "dynamiclink", "domainuriprefix", "dynamiclinkdomain"],
    campaign: "referrer",
  },
  {
    // Its CSV export, and what `GET /api/links` answers.
    title: "Short.io",
    signs: [
      ["originalurl"],
      list("path slug shorturl secureshorturl shortlink link idstring iphoneurl androidurl"),
    ],
    fields: {
      name: ["title"],
      path: ["path", "slug"],
      url: ["originalurl"],
      ios_fallback_url: ["iphoneurl", "iosurl"],
      android_fallback_url: ["androidurl"],
    },
    addresses: ["shorturl", "secureshorturl", "shortlink", "link"],
    campaign: "url",
  },
  {
    // The CSV of its link list, and what `GET /v4/groups/…/bitlinks` answers.
    title: "Bitly",
    signs: [
      ["longurl", "destinationurl"],
      ["bitlink", "custombitlinks", "bitlinkid", "link", "shortlink", "shorturl", "id"],
    ],
    fields: { name: ["title"], url: ["longurl", "destinationurl"] },
    // A back-half that was chosen goes before the generated one.
    addresses: list(
      "custombitlinks custombitlink customlink customurl bitlink link shortlink shorturl id",
    ),
  },
  {
    // The link data of its API, with or without `data` around it, and tables of that data.
    title: "Branch",
    signs: [
      list(
        "$desktopurl $fallbackurl $iosurl $androidurl $canonicalurl $deeplinkpath $ogtitle " +
          "$ogdescription $ogimageurl $marketingtitle ~channel ~campaign ~feature ~stage ~tags",
      ),
    ],
    fields: {
      name: ["$marketingtitle", "linktitle", "title"],
      path: ["alias"],
      url: ["$desktopurl", "desktopurl", "$fallbackurl"],
      social_title: ["$ogtitle", "ogtitle"],
      social_description: ["$ogdescription", "ogdescription"],
      social_image_url: ["$ogimageurl", "ogimageurl"],
      ios_fallback_url: ["$iosurl", "$fallbackurl"],
      android_fallback_url: ["$androidurl", "$fallbackurl"],
    },
    addresses: ["url", "link", "shortlink", "shorturl", "~referringlink"],
    // Branch's own names begin with a sign.
    foreign: /^data\.(?!url$)[^$~+]/,
  },
];

/** The service that a file with these columns or members comes from; undefined for one of ours. */
export function detectFormat(names: readonly string[]): Format | undefined {
  const keys = new Set(names.map(simplifyName));
  return formats.find(({ signs }) => signs.every((some) => some.some((key) => keys.has(key))));
}

/** One link as another service writes it: every value that is not empty, by its name. */
export type ForeignLink = readonly ForeignValue[];

type ForeignValue = {
  /** Its name in the file: a column, or the path of a JSON member (`data.$og_title`). */
  readonly name: string;
  readonly key: string;
  readonly text: string;
};

/** What was found in a file that its links do not have afterwards. */
export type Leftover = {
  readonly unmapped: Map<string, Unmapped>;
  readonly warnings: Map<keyof typeof warnings, RowCount>;
};

/** A column or member whose values were not taken over. */
export type Unmapped = {
  readonly field: string;
  /** How many values it had. */
  readonly count: number;
  /** The first of them, shortened. */
  readonly example: string;
};

type RowCount = { readonly count: number; readonly first: number };

/** Data of an app's own may have a new name in every link. */
const mostNames = 200;

/** The same link in our fields; what it does not have there is counted. */
export function convertLink(
  format: Format,
  link: ForeignLink,
  row: number,
  leftover: Leftover,
): GivenRow {
  const used = new Set<ForeignValue>();
  const fields = readFields(format, link, used);
  if (isBlank(fields.url)) countWarning(leftover, "without a destination", row);
  const unmapped = link.filter((value) => !used.has(value));
  if (unmapped.some(isArchived)) countWarning(leftover, "archived", row);
  for (const { name, text } of unmapped) {
    const isListed = leftover.unmapped.has(name) || leftover.unmapped.size < mostNames;
    // A link's password, or an account's, is not shown again.
    const shown = /password|secret/i.test(name) ? "(hidden)" : text;
    countUnmapped(leftover, isListed ? name : "(others)", shown);
  }
  return { fields, problems: [] };
}

function isArchived({ key, text }: ForeignValue): boolean {
  return ["archived", "isdeleted"].includes(key) && readFlag(text) === true;
}

/** Flags that say nothing where they are off. */
const flags = ["archived", "isdeleted", "cloaking", "haspassword", "skipqs", "duplicate"];
/** Where one of two fields is missing, the other has no place on a link. */
const needs: Readonly<Record<string, string>> = {
  provider_token: "campaign_token",
  campaign_token: "provider_token",
  "ios_app.app_store_id": "ios_app.bundle_id",
};
const parameters = ["utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "gclid"];

/** Adds to `used` each value that the returned fields come from. */
function readFields(
  { fields: aliases, addresses, campaign, foreign }: Format,
  values: ForeignLink,
  used: Set<ForeignValue>,
): LinkFields {
  const own = values.filter(({ name }) => foreign?.test(name) !== true);
  /** Returns the first value that can be parsed. Equal values under one name all count as used. */
  const read = <Value>(keys: readonly string[], parse: (text: string) => Value | undefined) => {
    for (const key of keys) {
      const same = own.filter((value) => value.key === key);
      const found = same.find(({ text }) => parse(text) !== undefined);
      if (found === undefined) continue;
      for (const value of same) if (value.text === found.text) used.add(value);
      return parse(found.text);
    }
    return undefined;
  };
  const fields: Record<string, unknown> = {};
  for (const [name, keys] of Object.entries(aliases)) {
    const partner = aliases[needs[name] ?? name] ?? [];
    const hasPartner = own.some(({ key }) => partner.includes(key));
    const parse = name === "enable_forced_redirect" ? readFlag : (text: string) => text;
    const value = hasPartner ? read<string | boolean>(keys, parse) : undefined;
    const [field = "", member] = name.split(".");
    if (value !== undefined) setField(fields, [field, member], value);
  }
  const path = fields["path"] ?? read(addresses, (text) => readShortPath(text) || undefined);
  if (path !== undefined) {
    fields["path"] = path;
    // The same address again, or only its host.
    const isRepeated = (text: string) => {
      const other = readShortPath(text);
      return other === path || other === "" || undefined;
    };
    for (const key of addresses) read([key], isRepeated);
  }
  for (const flag of flags) read([flag], (text) => readFlag(text) === false || undefined);
  const address = campaign === "url" ? readUrl(String(fields["url"])) : undefined;
  if (campaign === "referrer" || address !== undefined) {
    const query = address?.searchParams ?? new URLSearchParams();
    const before = query.toString();
    for (const name of parameters) {
      // Parameters that the address already has stay.
      const held = query.get(name);
      const isFree = (text: string) => (held === null || held === text ? text : undefined);
      const value = read([simplifyName(name)], isFree);
      if (value !== undefined) query.set(name, value);
    }
    if (query.toString() !== before) fields[campaign ?? ""] = address?.href ?? query.toString();
  }
  return fields;
}

/** The path of `https://example.page.link/m9Mm` or `bit.ly/3abc`; empty for only a host. */
function readShortPath(text: string): string | undefined {
  // Of several addresses none is better than the others.
  if (/\s/.test(text)) return undefined;
  return readUrl(/^https?:\/\//i.test(text) ? text : `https://${text}`)?.pathname.slice(1);
}

/**
 * Services write one name in many ways: `Long URL`, `long_url`, `longUrl`; and Firebase puts the
 * parameter behind what it means: `iOS bundle ID (ibi)`. Of members inside others the last counts.
 */
function simplifyName(name: string): string {
  const parameter = /\((\w+)\)\s*\??\s*$/.exec(name)?.[1];
  const last = parameter ?? name.replace(/^.*\.(?=\S)/s, "");
  return last.toLowerCase().replace(/[^a-z0-9$~]/g, "");
}

/** A record of a foreign file. Columns that hold JSON are opened. */
export function readForeignCells(
  columns: readonly string[],
  cells: readonly string[],
): ForeignLink {
  return columns.flatMap((name, index) => {
    const text = cells[index] ?? "";
    return flatten(name.trim(), /^\s*\{/.test(text) ? parseObject(text) : text);
  });
}

/** A foreign link that came as JSON, taken apart to its single values. */
export function readForeignObject(link: object): ForeignLink {
  return flatten("", link);
}

/** Deeper than any of these services nests; what is deeper is kept as its JSON. */
const mostLevels = 8;

function flatten(name: string, value: unknown, levels = mostLevels): ForeignLink {
  if (value === null || value === undefined) return [];
  const isPlainList = Array.isArray(value) && value.every((item) => typeof item !== "object");
  if (typeof value !== "object" || Array.isArray(value) || levels === 0) {
    const written = typeof value === "string" ? value : JSON.stringify(value);
    const text = (isPlainList ? value.join(", ") : written).trim();
    return text === "" ? [] : [{ name, key: simplifyName(name), text }];
  }
  return Object.entries(value).flatMap(([member, inner]) =>
    flatten(name === "" ? member : `${name}.${member}`, inner, levels - 1),
  );
}

function parseObject(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isNestedTooDeep(value) ? text : value;
  } catch {
    return text;
  }
}

function countUnmapped({ unmapped }: Leftover, field: string, text: string): void {
  const known = unmapped.get(field) ?? { count: 0, example: quoteLine(text).slice(1, -1) };
  unmapped.set(field, { field, count: known.count + 1, example: known.example });
}

/** Rows that become links which their user may not expect. */
const warnings = {
  "without a destination": "Desktop visitors will see a page instead of being redirected.",
  archived: "Waypost has no archive, so these links work like all others.",
} as const;

function countWarning({ warnings: counted }: Leftover, kind: keyof typeof warnings, row: number) {
  const { count, first } = counted.get(kind) ?? { count: 0, first: row };
  counted.set(kind, { count: count + 1, first });
}

export function describeWarnings(leftover: Leftover, unit: "line" | "row"): readonly string[] {
  return [...leftover.warnings].map(([kind, { count, first }]) =>
    count === 1
      ? `1 row is ${kind} (${unit} ${first}). ${warnings[kind]}`
      : `${count} rows are ${kind} (the first is ${unit} ${first}). ${warnings[kind]}`,
  );
}
