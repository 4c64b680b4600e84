import { limits } from "../../contract/limits.ts";
import type { LinkFields, ReadLink } from "../../contract/links.ts";
import { faultOf, type FieldProblem } from "../../contract/problem.ts";
import { findPathFault, decodePath } from "../../contract/rules/link-path.ts";
import {
  addressFields,
  isStoreToken,
  storeTokens,
  textFields,
} from "../../contract/rules/link-rules.ts";
import { readUrl } from "../../contract/rules/web-address.ts";

/**
 * Changes that are the same rule for every link, and another value for each: what a link has is
 * rewritten here, and nothing is read or sent. Applied to what came of it, a rule for a host, a
 * query or a prefix changes nothing more, so that a plan may be made again.
 */

export type LinkRules = {
  /** One after the other: a later one finds what an earlier one wrote. */
  readonly replace?: readonly Replacement[];
  readonly add_query?: QueryRule;
  readonly path_prefix?: string;
};

export type Replacement = {
  readonly field: string;
  readonly from: string;
  readonly to: string;
  /** The whole host of an address, or every occurrence of a text. */
  readonly match: "host" | "text";
};

type QueryRule = { readonly field: string; readonly values: Readonly<Record<string, string>> };

/** Fields with a rule for them, and what is wrong with their new values so far. */
type Ruled = { readonly fields: LinkFields; readonly problems: readonly FieldProblem[] };

const isAddressField = (field: string) => addressFields.some((name) => name === field);

/** The fields that a rule may be about. */
export const ruledFields: readonly string[] = ["path", ...textFields, ...addressFields];

/**
 * The fields that become others by the rules. What a link does not have, or a deployment does not
 * tell of it, no rule is about.
 */
export function applyRules(link: ReadLink, rules: LinkRules): Ruled {
  const fields: Record<string, string> = {};
  const problems: FieldProblem[] = [];
  const change = (field: string, rewrite: (value: string) => string | undefined) => {
    const value = fields[field] ?? link[field];
    if (typeof value !== "string" || value === "") return;
    const changed = rewrite(value);
    if (changed === undefined) problems.push(faultOf(field, "would be too long"));
    else fields[field] = changed;
  };
  for (const { field, from, to, match } of rules.replace ?? []) {
    change(field, match === "host" ? moveHost(from, to) : replaceText(from, to));
  }
  const { add_query, path_prefix } = rules;
  if (add_query !== undefined) change(add_query.field, setQuery(add_query.values));
  if (path_prefix !== undefined) change("path", addPrefix(path_prefix));
  const changed = Object.entries(fields).filter(([field, value]) => value !== link[field]);
  return { fields: completeTokens(link, Object.fromEntries(changed)), problems };
}

/** The fields that the rules are about, whether or not they change them. */
export function listRuledFields(rules: LinkRules): ReadonlySet<string> {
  const { replace = [], add_query, path_prefix } = rules;
  const fields = new Set(replace.map(({ field }) => field));
  if (add_query !== undefined) fields.add(add_query.field);
  if (path_prefix !== undefined) fields.add("path");
  return new Set([...fields].flatMap((field) => (isStoreToken(field) ? storeTokens : [field])));
}

/** What is wrong with the rules themselves, whichever links they meet. */
export function findRuleFaults(rules: LinkRules): readonly FieldProblem[] {
  const { replace, add_query, path_prefix } = rules;
  const faults: FieldProblem[] = (replace ?? []).flatMap((each, index) => {
    const place = `replace.${index}`;
    return findReplacementFaults(each).map(({ field, message }) => {
      return { field: `${place}.${field}`, message };
    });
  });
  if (replace?.length === 0) faults.push({ field: "replace", message: "must not be empty" });
  if (add_query !== undefined) faults.push(...findQueryFaults(add_query));
  if (path_prefix !== undefined) faults.push(...findPrefixFaults(path_prefix));
  return faults.map(({ field, message }) => ({ field, message: `${field} ${message}` }));
}

function findReplacementFaults({ field, from, to, match }: Replacement): readonly FieldProblem[] {
  if (from === "") return [{ field: "from", message: "is empty; give the text to replace" }];
  if (match === "text") return [];
  if (!isAddressField(field)) {
    const message = `cannot be "host", because ${field} has no host; use "text"`;
    return [{ field: "match", message }];
  }
  return [
    { field: "from", fault: findHostFault(from) },
    { field: "to", fault: findHostFault(to) },
  ].flatMap(({ field: place, fault }) =>
    fault === undefined ? [] : [{ field: place, message: fault }],
  );
}

/** Of an address alone a port is a part of the host, and a star is one that no host has. */
function findHostFault(host: string): string | undefined {
  if (host.includes("://")) return "is a whole address; give only its host, such as example.com";
  if (/[/?#\\@%*\s\p{Cc}]/u.test(host)) return "is not a host such as example.com";
  return readHost("https://", host) === undefined ? "is not a host name" : undefined;
}

function findQueryFaults({ field, values }: QueryRule): readonly FieldProblem[] {
  if (!isAddressField(field)) {
    return [
      {
        field: "add_query.field",
        message: `cannot be "${field}", which has no query`,
      },
    ];
  }
  const entries = Object.entries(values);
  const isEmpty = entries.length === 0 || entries.some(([name]) => name === "");
  const isBroken = entries.flat().some((text) => !text.isWellFormed());
  const message = isEmpty ? "needs at least one parameter, and a name for each" : brokenText;
  return isEmpty || isBroken ? [{ field: "add_query.values", message }] : [];
}

const brokenText = "contains an incomplete character";

function findPrefixFaults(prefix: string): readonly FieldProblem[] {
  const normal = decodePath(prefix);
  if (normal === undefined || normal.trim() === "") {
    return [{ field: "path_prefix", message: "must be a valid path prefix, such as promo/" }];
  }
  // What it is the beginning of is not known yet: any letter shows what is wrong with itself.
  const fault = findPathFault(`${normal}a`);
  return fault === undefined ? [] : [{ field: "path_prefix", message: fault }];
}

/**
 * Only the host and its port are written anew; all else stays as it stands, letter by letter. A
 * host without a port is one on the port of its scheme; however a host is written, in any case, by
 * its letters or in punycode, with a dot at its end, it is the same.
 */
function moveHost(from: string, to: string): (address: string) => string {
  return (address) => {
    const [, scheme = "", login = "", host = "", rest = ""] = webAddress.exec(address) ?? [];
    // A longer one is the name of nothing, and slow to be read as one.
    const found = host.length > longestHost ? undefined : readHost(scheme, host);
    const isMeant = found !== undefined && found === readHost(scheme, from);
    return isMeant ? scheme + login + to + rest : address;
  };
}

const longestHost = 300;
/** A name and a password are no part of the host; who has them in an address is told of them. */
const webAddress = /^(https?:\/\/)([^/?#\\]*@)?([^/?#\\]+)(.*)$/is;

/** As a browser asks for it; undefined for what is no host. */
function readHost(scheme: string, host: string): string | undefined {
  const url = readUrl(scheme + host);
  if (url === undefined || url.hostname === "") return undefined;
  return url.hostname.replace(/\.$/, "") + (url.port === "" ? "" : `:${url.port}`);
}

/** Undefined where the text would outgrow what any field is sent with. */
function replaceText(from: string, to: string): (value: string) => string | undefined {
  return (value) => {
    const parts = value.split(from);
    const length = value.length + (parts.length - 1) * (to.length - from.length);
    return length > limits.body_bytes ? undefined : parts.join(to);
  };
}

/**
 * The first parameter of each name gets the value where it stands, further ones of that name go,
 * and new ones stand at the end; all others and the fragment stay letter by letter.
 */
function setQuery(values: QueryRule["values"]): (address: string) => string {
  return (address) => {
    const [, base = "", query, fragment = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(address) ?? [];
    const left = new Map(Object.entries(values));
    const text = (query ?? "").slice(1);
    const parts = text === "" ? [] : text.split("&");
    const kept = parts.flatMap((part) => {
      // A question mark at its beginning would be taken for that of the query.
      const [[name, held] = []] = new URLSearchParams(`&${part}`);
      if (name === undefined || !Object.hasOwn(values, name)) return [part];
      const value = left.get(name);
      left.delete(name);
      if (value === undefined) return [];
      return [held === value ? part : writeParameter(name, value)];
    });
    const added = [...left].map(([name, value]) => writeParameter(name, value));
    return `${base}?${[...kept, ...added].join("&")}${fragment}`;
  };
}

function writeParameter(name: string, value: string): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

function addPrefix(prefix: string): (path: string) => string {
  const normal = decodePath(prefix) ?? prefix;
  return (path) => (path.startsWith(normal) ? path : normal + path);
}

/** api-spec.md, "Link": either store token must be sent together with the other. */
function completeTokens(link: ReadLink, fields: Readonly<Record<string, string>>): LinkFields {
  if (!Object.keys(fields).some(isStoreToken)) return fields;
  const tokens = storeTokens.map((name) => [name, fields[name] ?? link[name] ?? null]);
  return { ...fields, ...Object.fromEntries(tokens) };
}
