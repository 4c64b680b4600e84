import { isNestedTooDeep } from "../../contract/json.ts";
import type { LinkFields } from "../../contract/links.ts";
import { readUrl } from "../../contract/rules/web-address.ts";
import { isBlank } from "../../contract/text.ts";
import type { PlanSource } from "../../state/plans.ts";
import { quoteLine } from "../../text/show-hidden.ts";
import { readFlag, setField, type InputRow } from "./columns.ts";

/**
 * Maps the field names of other services to Waypost's fields. The names have the form that
 * `simplifyName` returns. If several names are listed for a field, the first one with a value is
 * used.
 */

export type Format = {
  readonly title: string;
  /** A file has this format if its column or property names include at least one from each list. */
  readonly signs: readonly (readonly string[])[];
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /**
   * The columns that contain short links. Paths are read from them. Several columns may contain the
   * same path.
   */
  readonly addresses: readonly string[];
  /**
   * Where the service's campaign parameters go: into the destination or the Google Play referrer.
   */
  readonly campaign?: "url" | "referrer";
  /** Matches the names of custom data, which may equal the service's own field names. */
  readonly foreign?: RegExp;
};

const list = (names: string): readonly string[] => names.split(" ");

export const formats: readonly Format[] = [
  {
    // Supports Google Takeout's CSV file and the API's `dynamicLinkInfo`.
    title: "Firebase Dynamic Links",
    signs: [
      ["link", "deeplink"],
      list("shortlink dynamiclink domainuriprefix apn ibi isi afl ifl ofl efr"),
    ],
    fields: {
      name: ["linkname", "name"],
      // On desktops, Firebase redirects to `ofl` instead of the deep link.
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
    // Supports exported CSV files and the response of `GET /api/links`.
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
    // Supports the link list's CSV file and the response of `GET /v4/groups/…/bitlinks`.
    title: "Bitly",
    signs: [
      ["longurl", "destinationurl"],
      list("bitlink custombitlinks bitlinkid link shortlink shorturl id"),
    ],
    fields: { name: ["title"], url: ["longurl", "destinationurl"] },
    // A custom back-half is preferred to a generated one.
    addresses: list(
      "custombitlinks custombitlink customlink customurl bitlink link shortlink shorturl id",
    ),
  },
  {
    // Supports link data from the API, even in a `data` wrapper, and tables with the same fields.
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
    // Branch's own field names begin with `$`, `~` or `+`.
    foreign: /^data\.(?!url$)[^$~+]/,
  },
];

/**
 * Returns the service that a file comes from. Returns undefined if the file has Waypost's own
 * format.
 */
export function detectFormat(names: readonly string[]): Format | undefined {
  const keys = new Set(names.map(simplifyName));
  return formats.find(({ signs }) => signs.every((some) => some.some((key) => keys.has(key))));
}

/** All values of a link from another service, except empty ones. */
export type ForeignLink = readonly ForeignValue[];

type ForeignValue = {
  /** The name of the column, or the path of the JSON property (`data.$og_title`). */
  readonly name: string;
  readonly key: string;
  readonly text: string;
};

/** The values of a file that are not imported, and warnings about its links. */
export type Leftover = {
  readonly unmapped: Map<string, PlanSource["unmapped"][number]>;
  /** For each warning, how many rows it affects and which row is the first. */
  readonly warnings: Map<keyof typeof warnings, { readonly count: number; readonly first: number }>;
};

/** Converts a link to Waypost's fields. Counts the values that no field can store. */
export function convertLink(
  format: Format,
  link: ForeignLink,
  row: number,
  leftover: Leftover,
): InputRow {
  const used = new Set<ForeignValue>();
  const fields = readFields(format, link, used);
  const unmapped = link.filter((value) => !used.has(value));
  const isArchived = unmapped.some(({ key, text }) => {
    return ["archived", "isdeleted"].includes(key) && readFlag(text) === true;
  });
  if (isBlank(fields.url)) countWarning(leftover, "without a destination", row);
  if (isArchived) countWarning(leftover, "archived", row);
  for (const value of unmapped) countUnmapped(leftover, value);
  return { fields, problems: [] };
}

/** These flags are reported as not imported only if they are set. */
const flags = list("archived isdeleted cloaking haspassword skipqs duplicate");
/** Maps a field to the field it requires. Without that field, it is not imported. */
const needs: Readonly<Record<string, string>> = {
  provider_token: "campaign_token",
  campaign_token: "provider_token",
  "ios_app.app_store_id": "ios_app.bundle_id",
};
const parameters = list("utm_source utm_medium utm_campaign utm_term utm_content gclid");

/** Returns the fields of a link. Adds each imported value to `used`. */
function readFields(
  { fields: aliases, addresses, campaign, foreign }: Format,
  values: ForeignLink,
  used: Set<ForeignValue>,
): LinkFields {
  const own = values.filter(({ name }) => foreign?.test(name) !== true);
  /** Returns the first value that can be parsed. Marks it and its repetitions as used. */
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
    if (!own.some(({ key }) => partner.includes(key))) continue;
    const parse = name === "enable_forced_redirect" ? readFlag : (text: string) => text;
    const value = read<string | boolean>(keys, parse);
    const [field = "", member] = name.split(".");
    if (value !== undefined) setField(fields, [field, member], value);
  }
  const path = fields["path"] ?? read(addresses, (text) => readShortPath(text) || undefined);
  if (path !== undefined) {
    fields["path"] = path;
    // Other columns may contain the same short link, or only its host.
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
      // Parameters that the URL already contains are not overwritten.
      const held = query.get(name);
      const parseUnlessSet = (text: string) => (held === null || held === text ? text : undefined);
      const value = read([simplifyName(name)], parseUnlessSet);
      if (value !== undefined) query.set(name, value);
    }
    if (query.toString() !== before) fields[campaign ?? ""] = address?.href ?? query.toString();
  }
  return fields;
}

/**
 * Returns the path of a short link such as `https://example.page.link/m9Mm` or `bit.ly/3abc`.
 * Returns an empty string if the text contains only a host.
 */
function readShortPath(text: string): string | undefined {
  // A cell with several URLs is skipped, because any of them could be the right one.
  if (/\s/.test(text)) return undefined;
  return readUrl(/^https?:\/\//i.test(text) ? text : `https://${text}`)?.pathname.slice(1);
}

/**
 * Normalizes a name, because services write names in many ways: `Long URL`, `long_url`, `longUrl`.
 * Firebase adds the parameter in parentheses: `iOS bundle ID (ibi)`. A nested name is reduced to
 * its last part.
 */
function simplifyName(name: string): string {
  const parameter = /\((\w+)\)\s*\??\s*$/.exec(name)?.[1];
  const last = parameter ?? name.replace(/^.*\.(?=\S)/s, "");
  return last.toLowerCase().replace(/[^a-z0-9$~]/g, "");
}

/** Reads a CSV record of another service. A JSON object in a cell is parsed. */
export function readForeignCells(
  columns: readonly string[],
  cells: readonly string[],
): ForeignLink {
  return columns.flatMap((name, index) => {
    const text = cells[index] ?? "";
    return flatten(name.trim(), /^\s*\{/.test(text) ? parseObject(text) : text);
  });
}

export function readForeignObject(link: object): ForeignLink {
  return flatten("", link);
}

/** No supported service nests deeper than this. Values at deeper levels stay JSON text. */
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

/**
 * The maximum number of names to report, because custom data may have different names in every
 * link.
 */
const mostNames = 200;

function countUnmapped({ unmapped }: Leftover, { name, text }: ForeignValue): void {
  const field = unmapped.has(name) || unmapped.size < mostNames ? name : "(others)";
  // Hidden, because the report must not contain passwords.
  const shown = /password|secret/i.test(name) ? "(hidden)" : text;
  const known = unmapped.get(field) ?? { count: 0, example: quoteLine(shown).slice(1, -1) };
  unmapped.set(field, { field, count: known.count + 1, example: known.example });
}

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
