import { limits } from "../../contract/limits.ts";
import type { LinkFields, ReadLink } from "../../contract/links.ts";
import { faultOf, type FieldProblem } from "../../contract/problem.ts";
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
 * Changes by one rule that gives each link its own value. Applied to its own result, a rule for a
 * host, a query or a prefix changes nothing more, so that a plan may be made again.
 */

/** The fields that a rule may change. */
export const ruledFields: readonly string[] = ["path", ...textFields, ...addressFields];

/**
 * Returns the fields that the rules change, and what is wrong with their new values. Each rule
 * works on the result of the one before. A rule skips a field that the link lacks, or that the
 * server does not show.
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
    if (changed === undefined) problems.push(faultOf(field, "would be too long"));
    else fields[field] = changed;
  }
  const changed = Object.entries(fields).filter(([field, value]) => value !== link[field]);
  return { fields: completeTokens(link, Object.fromEntries(changed)), problems };
}

/** The fields that the rules are about, whether or not they change them. */
export function listRuledFields(rules: readonly PlanRule[]): ReadonlySet<string> {
  return new Set(rules.flatMap(({ field }) => (isStoreToken(field) ? storeTokens : [field])));
}

/** Undefined when the text would become longer than any field that can be sent. */
type Rewrite = (value: string, from: string, to: string) => string | undefined;

const rewriters: Readonly<Record<PlanRule["kind"], Rewrite>> = {
  host: moveHost,
  text: replaceText,
  query: setParameter,
  prefix: (path, _, to) => {
    const prefix = decodePath(to) ?? to;
    return path.startsWith(prefix) ? path : prefix + path;
  },
};

/**
 * Replaces only the host and its port, and leaves every other character unchanged. Hosts are equal
 * in any case, in letters or punycode, with or without a final dot or their scheme's own port.
 */
function moveHost(address: string, from: string, to: string): string {
  const [, scheme = "", login = "", host = "", rest = ""] = webAddress.exec(address) ?? [];
  // No real host is longer, and a longer one is slow to parse.
  const found = host.length > longestHost ? undefined : readHost(scheme, host);
  const isMeant = found !== undefined && found === readHost(scheme, from);
  return isMeant ? scheme + login + to + rest : address;
}

const longestHost = 300;
/** The host excludes a user name and password. */
const webAddress = /^(https?:\/\/)([^/?#\\]*@)?([^/?#\\]+)(.*)$/is;

/** As a browser asks for it; undefined for what is no host. */
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
 * The first parameter with this name gets the value in its place, and further ones are removed. A
 * new parameter is added at the end. All others and the fragment stay as they are, letter by
 * letter.
 */
function setParameter(address: string, name: string, value: string): string {
  const [, base = "", query, fragment = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(address) ?? [];
  const written = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  const text = (query ?? "").slice(1);
  let isSet = false;
  const kept = (text === "" ? [] : text.split("&")).flatMap((part) => {
    // URLSearchParams would drop a question mark at the beginning.
    const [[known, held] = []] = new URLSearchParams(`&${part}`);
    if (known !== name) return [part];
    if (isSet) return [];
    isSet = true;
    return [held === value ? part : written];
  });
  return `${base}?${[...kept, ...(isSet ? [] : [written])].join("&")}${fragment}`;
}

/** The API requires both store tokens together, so the other one is sent unchanged. */
function completeTokens(link: ReadLink, fields: Readonly<Record<string, string>>): LinkFields {
  if (!Object.keys(fields).some(isStoreToken)) return fields;
  const tokens = storeTokens.map((name) => [name, fields[name] ?? link[name] ?? null]);
  return { ...fields, ...Object.fromEntries(tokens) };
}
