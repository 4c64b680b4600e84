import type { IncomingHttpHeaders } from "node:http";
import { normalizeAddress } from "./ip-address.ts";
import type { Trusts } from "./trusted-proxies.ts";

/** Where a request comes from, by the connection and by what proxies wrote into it. */

export type Arrival = {
  /** The other end of the connection; undefined where it has gone. */
  readonly peer: string | undefined;
  /** The header `Forwarded` (RFC 7239). */
  readonly forwarded: string | undefined;
  /** The header `X-Forwarded-For`. */
  readonly forwardedFor: string | undefined;
};

export function readArrival(peer: string | undefined, headers: IncomingHttpHeaders): Arrival {
  // Node joins the lines of a header; its type does not say so.
  const forwardedFor = headers["x-forwarded-for"]?.toString();
  return { peer, forwarded: headers.forwarded, forwardedFor };
}

/** What proxies write into a request that they pass on. */
const forwarding = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
];

/** Whether somebody has passed a request on, who may be believed or not. */
export function isForwarded(headers: Headers): boolean {
  return forwarding.some((name) => headers.has(name));
}

/**
 * Each proxy adds at the right end whom it was called by, so the list is read from there, and only
 * for as long as those who wrote it are trusted: what stands further left any client can write.
 */
export function findClientAddress(arrival: Arrival, trusts: Trusts): string | undefined {
  const peer = normalizeAddress(arrival.peer ?? "");
  if (peer === undefined || !trusts(peer, 0)) return peer;
  const { forwarded, forwardedFor } = arrival;
  const lists = [
    ...(forwardedFor === undefined ? [] : [forwardedFor.split(",").map(readNode)]),
    ...(forwarded === undefined ? [] : readForwarded(forwarded)),
  ];
  const [way = [peer], other = way] = lists.map((list) => walk(peer, list, trusts));
  if (way.at(-1) === other.at(-1)) return way.at(-1);
  // A proxy writes one of the headers and may pass on a stranger's other one, so that where they
  // differ nobody knows which is true: the nearest trusted hop is known, as far as both name it.
  return way.findLast((_, hop) => isSameUntil(hop, way, other));
}

/**
 * The address that was found, as far as it is the client's own: behind a proxy that is not trusted
 * it is the proxy's, which all of its clients share. What the proxy wrote has it nowhere then.
 */
export function findToldAddress(
  address: string | undefined,
  { forwarded, forwardedFor }: Omit<Arrival, "peer">,
): string | undefined {
  if (forwarded === undefined && forwardedFor === undefined) return address;
  const lists = [
    (forwardedFor ?? "").split(",").map(readNode),
    ...(forwarded === undefined ? [] : readForwarded(forwarded)),
  ];
  return lists.flat().includes(address) ? address : undefined;
}

/** To the first from the right that is not trusted, or to the one before an unreadable entry. */
function walk(
  peer: string,
  list: readonly (string | undefined)[],
  trusts: Trusts,
): readonly string[] {
  const way = [peer];
  for (const [hop, next] of list.toReversed().entries()) {
    if (next === undefined || !trusts(way.at(-1) ?? peer, hop)) break;
    way.push(next);
  }
  return way;
}

function isSameUntil(last: number, way: readonly string[], other: readonly string[]): boolean {
  return way.slice(0, last + 1).every((address, hop) => address === other[hop]);
}

/** `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`. */
function readNode(text: string): string | undefined {
  const node = text.trim();
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(node) ?? [];
  const [, dotted] = /^([\d.]+):\d{1,5}$/.exec(node) ?? [];
  return normalizeAddress(bracketed ?? dotted ?? node);
}

/**
 * `for=192.0.2.1;proto=https, for="[2001:db8::1]"`: a list, or none where it has no `for`, and so
 * says nothing of addresses. Of a header with an open quote nothing is read.
 */
function readForwarded(header: string): readonly (readonly (string | undefined)[])[] {
  const elements = splitOutsideQuotes(header, ",");
  if (elements === undefined) return [[undefined]];
  const named = elements.map((element) => {
    const pairs = splitOutsideQuotes(element, ";") ?? [];
    return pairs.flatMap((pair) => /^\s*for=(.*?)\s*$/i.exec(pair)?.[1] ?? []);
  });
  if (named.every((values) => values.length === 0)) return [];
  return [
    named.map((values) => (values.length === 1 ? readNode(unquote(values[0] ?? "")) : undefined)),
  ];
}

function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1]?.replaceAll(/\\(.)/g, "$1") ?? value;
}

/** Undefined where a quote is never closed. */
function splitOutsideQuotes(text: string, separator: string): readonly string[] | undefined {
  const parts: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (isQuoted && character === "\\") index += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && character === separator) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return isQuoted ? undefined : [...parts, text.slice(start)];
}
