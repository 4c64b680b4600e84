import { limits } from "../../contract/limits.ts";
import type { LinkFields, ReadLink } from "../../contract/links.ts";
import { makeFieldProblem, type FieldProblem } from "../../contract/problem.ts";
import { decodePath } from "../../contract/rules/link-path.ts";
import {
  addressFields,
  isStoreToken,
  storeTokens,
  textFields,
} from "../../contract/rules/link-rules.ts";
import { readUrl } from "../../contract/rules/web-address.ts";
import type { PlanRule } from "../../state/plans.ts";

/**
 * Rules that compute a new value for each link. A host, query or prefix rule changes nothing when
 * it is applied again, so a plan with such rules can safely be made again.
 */

export const ruledFields: readonly string[] = ["path", ...textFields, ...addressFields];

/**
 * Returns the changed fields of a link, and problems with their new values. If several rules change
 * a field, each one starts from the result of the previous one. A field that is empty or unknown is
 * skipped.
 */
export function applyRules(
  link: ReadLink,
  rules: readonly PlanRule[],
): { readonly fields: LinkFields; readonly problems: readonly FieldProblem[] } {
  const fields: Record<string, string> = {};
  const problems: FieldProblem[] = [];
  for (const { field, kind, from, to } of rules) {
    const value = fields[field] ?? link[field];
    if (typeof value !== "string" || value === "") continue;
    const changed = rewriters[kind](value, from, to);
    if (changed === undefined) problems.push(makeFieldProblem(field, "would be too long"));
    else fields[field] = changed;
  }
  const changed = Object.entries(fields).filter(([field, value]) => value !== link[field]);
  return { fields: completeTokens(link, Object.fromEntries(changed)), problems };
}

export function listRuledFields(rules: readonly PlanRule[]): ReadonlySet<string> {
  return new Set(rules.flatMap(({ field }) => (isStoreToken(field) ? storeTokens : [field])));
}

/** Returns undefined if the new text is too long for a request. */
type Rewrite = (value: string, from: string, to: string) => string | undefined;

const rewriters: Readonly<Record<PlanRule["kind"], Rewrite>> = {
  host: moveHost,
  start: (value, from, to) => {
    const start = value.slice(0, from.length);
    return start.toLowerCase() === from.toLowerCase() ? to + value.slice(start.length) : value;
  },
  text: replaceText,
  query: setParameter,
  prefix: (path, _, to) => {
    const prefix = decodePath(to) ?? to;
    return path.startsWith(prefix) ? path : prefix + path;
  },
};

/**
 * Replaces only the host and port. Hosts are compared without regard to case, punycode, a trailing
 * dot, or the default port.
 */
function moveHost(address: string, from: string, to: string): string {
  const [, scheme = "", login = "", host = "", rest = ""] = webAddress.exec(address) ?? [];
  // Hosts longer than this are never valid, and are slow to parse.
  const found = host.length > longestHost ? undefined : readHost(scheme, host);
  const isMeant = found !== undefined && found === readHost(scheme, from);
  return isMeant ? scheme + login + to + rest : address;
}

const longestHost = 300;
/** Splits a URL into its scheme, credentials, host and rest. */
const webAddress = /^(https?:\/\/)([^/?#\\]*@)?([^/?#\\]+)(.*)$/is;

/** Normalizes a host as browsers do. Returns undefined if the host is invalid. */
export function readHost(scheme: string, host: string): string | undefined {
  const url = readUrl(scheme + host);
  if (url === undefined || url.hostname === "") return undefined;
  return url.hostname.replace(/\.$/, "") + (url.port === "" ? "" : `:${url.port}`);
}

function replaceText(value: string, from: string, to: string): string | undefined {
  const parts = value.split(from);
  const length = value.length + (parts.length - 1) * (to.length - from.length);
  return length > limits.body_bytes ? undefined : parts.join(to);
}

/**
 * Sets a query parameter. Replaces the first parameter with this name and removes the others, or
 * appends it. The rest of the URL stays byte for byte the same.
 */
function setParameter(address: string, name: string, value: string): string {
  const [, base = "", query, fragment = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(address) ?? [];
  const written = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  const text = (query ?? "").slice(1);
  let isSet = false;
  const kept = (text === "" ? [] : text.split("&")).flatMap((part) => {
    // Parse with a leading `&`, because URLSearchParams would drop a leading question mark.
    const [[known, held] = []] = new URLSearchParams(`&${part}`);
    if (known !== name) return [part];
    if (isSet) return [];
    isSet = true;
    return [held === value ? part : written];
  });
  return `${base}?${[...kept, ...(isSet ? [] : [written])].join("&")}${fragment}`;
}

/** Adds the token that did not change, because the API requires both store tokens together. */
function completeTokens(link: ReadLink, fields: Readonly<Record<string, string>>): LinkFields {
  if (!Object.keys(fields).some(isStoreToken)) return fields;
  const tokens = storeTokens.map((name) => [name, fields[name] ?? link[name] ?? null]);
  return { ...fields, ...Object.fromEntries(tokens) };
}
