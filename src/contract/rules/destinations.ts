import { makeFieldProblem, type FieldProblem } from "../problem.ts";
import { addressFields } from "./link-rules.ts";
import { readStore } from "./store-address.ts";
import { findWebAddressFault, readUrl } from "./web-address.ts";

/**
 * The allowed destination hosts of links. `example.com` means only that host; `*.example.com` means
 * its subdomains. Hosts are stored as browsers write them: lowercase, in punycode, without a final
 * dot.
 */
export type Destinations = readonly string[];

/** Undefined destinations allow every host. */
type ReadDestinations =
  { readonly destinations: Destinations | undefined } | { readonly fault: string };

type AddressField = (typeof addressFields)[number];

const rule = "must point to one of the allowed hosts (";

/** Whether a server's message rejects a URL because of its host. */
export function isForeignFault(message: string): boolean {
  return message.includes(rule);
}

const mostHosts = 200;
const mostShown = 5;
/** Messages truncate longer host names. */
const longestHost = 253;

/** Parses `example.com,*.example.com` or `any`. A fault is a phrase such as "must name a host". */
export function readDestinations(text: string): ReadDestinations {
  const words = text.split(",").map((word) => word.trim());
  const entries = words.filter((word) => word !== "");
  if (entries.length === 0) return { fault: 'must name a host; use "any" to allow all hosts' };
  if (entries.length > mostHosts) return { fault: `can have at most ${mostHosts} hosts` };
  const isAny = entries.some((word) => word.toLowerCase() === "any");
  if (isAny && entries.length > 1) return { fault: 'cannot combine "any" with other hosts' };
  if (isAny) return { destinations: undefined };
  const destinations = new Set<string>();
  for (const word of entries) {
    const read = readEntry(word);
    if ("fault" in read) {
      return { fault: `cannot contain ${JSON.stringify(word)}, which ${read.fault}` };
    }
    destinations.add(read.entry);
  }
  return { destinations: [...destinations] };
}

/** Formats destinations as one string, for a column or a command's output. */
export function writeDestinations(destinations: Destinations | undefined): string | null {
  return destinations === undefined ? null : destinations.join(",");
}

export function restoreDestinations(text: string | null): Destinations | undefined {
  return text === null ? undefined : text.split(",");
}

/**
 * Returns undefined if the URL's host is allowed, an empty string if the host is ambiguous, and
 * otherwise the host. Parses the URL as browsers do, so ports, case and encoding make no
 * difference. The host of a URL with a store's scheme is the store's web host.
 */
export function findForeignHost(address: string, destinations: Destinations): string | undefined {
  const host = readStore(address)?.host ?? readWebHost(address);
  return host !== "" && destinations.some((entry) => matchEntry(entry, host)) ? undefined : host;
}

function readWebHost(address: string): string {
  if (findWebAddressFault(address) !== undefined) return "";
  return readUrl(address)?.hostname.replace(/\.$/, "") ?? "";
}

/** Reports each URL whose host is not allowed. URLs that are already stored may stay. */
export function checkDestinations(
  fields: Readonly<Partial<Record<AddressField, string | null | undefined>>>,
  destinations: Destinations | undefined,
  before: Readonly<Record<string, unknown>> = {},
): readonly FieldProblem[] {
  if (destinations === undefined) return [];
  return addressFields.flatMap((field) => {
    const address = fields[field];
    if (address === undefined || address === null || address === "") return [];
    if (address === before[field]) return [];
    const host = findForeignHost(address, destinations);
    return host === undefined ? [] : [makeFieldProblem(field, describeForeign(host, destinations))];
  });
}

/** Returns why a URL was rejected, worded to complete a sentence. */
function describeForeign(host: string, destinations: Destinations): string {
  const shown = host.slice(0, longestHost);
  const clause = `${rule}${writeHosts(destinations)})`;
  return shown === "" ? clause : `${clause}, not to ${shown}`;
}

/** Returns a function that checks the host of a URL. Used for URLs in page templates. */
export function judgeBy(destinations: Destinations): (address: string) => string | undefined {
  return (address) => {
    const host = findForeignHost(address, destinations);
    return host === undefined ? undefined : describeForeign(host, destinations);
  };
}

/** Lists the first few hosts for a message, and the number of the others. */
export function writeHosts(destinations: Destinations): string {
  const more = destinations.length - mostShown;
  const shown = destinations.slice(0, mostShown).join(", ");
  return more > 0 ? `${shown} and ${more} more` : shown;
}

function matchEntry(entry: string, host: string): boolean {
  if (!entry.startsWith("*.")) return host === entry;
  return host.length >= entry.length && host.endsWith(entry.slice(1));
}

type ReadEntry = { readonly entry: string } | { readonly fault: string };

function readEntry(word: string): ReadEntry {
  const fault = findEntryFault(word);
  if (fault !== undefined) return { fault };
  const isBelow = word.startsWith("*.");
  const name = (isBelow ? word.slice(2) : word).replace(/\.$/, "");
  const host = readUrl(`https://${name}/`)?.hostname ?? "";
  // Stored entries are separated by commas, so an entry must not contain any.
  const isName = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])$/.test(host);
  if (!isName) return { fault: "is not a host name" };
  if (!isAddress(host)) return { entry: isBelow ? `*.${host}` : host };
  if (isBelow) return { fault: "is an IP address and so has no subdomains" };
  // Browsers read 127.1 and 0x7f.1 as 127.0.0.1, so abbreviated IP addresses are rejected.
  const isWhole = host === name || host.startsWith("[");
  return isWhole ? { entry: host } : { fault: `is abbreviated; write ${host}` };
}

function findEntryFault(word: string): string | undefined {
  if (word.includes("://")) return "is a web address; write only its host, such as example.com";
  if (/[/?#\\@%\s\p{Cc}]/u.test(word)) {
    return "is not a plain host; write example.com, or *.example.com for its subdomains";
  }
  if (word === "*" || word === "*.") return 'would match every host; write "any" instead';
  if (word.replace(/^\*\./, "").includes("*")) {
    return "has a misplaced *; write it only at the beginning, as in *.example.com";
  }
  const isInBrackets = /^\[[^\]]*\]$/.test(word);
  if (!isInBrackets && word.includes(":")) {
    return "has a port; omit it, because all ports are allowed";
  }
  return undefined;
}

function isAddress(host: string): boolean {
  return host.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(host);
}
