import { fold } from "../text.ts";
import { decodeForSearch, writeAddress } from "./link-path.ts";
import { readUrl } from "./web-address.ts";

/** Finds the links, apps or projects that a person's input refers to. */

export type NamedLink = {
  /**
   * The input itself, then its path if the input is a URL. The first one that matches a link wins.
   */
  readonly exact: readonly string[];
  /**
   * Tried if no exact path matches: the path without its query, with and without a trailing slash.
   */
  readonly loose: readonly string[];
  /** Set if the input is a URL. */
  readonly address?: NamedAddress;
};

export type NamedAddress = {
  readonly host: string;
  /** Whether the URL is on a host of the project's links. Undefined if these hosts are unknown. */
  readonly isOurs: boolean | undefined;
  /** The URL, with a scheme added if the input had none. */
  readonly text: string;
  readonly path: string;
};

/**
 * Returns the URL of the same path on the project's link host, and the name of the link at that
 * URL. Returns undefined if the link host is unknown.
 */
export function placeHere(
  { path, isOurs }: NamedAddress,
  linkHost: string | undefined,
  link: { readonly name?: unknown } | undefined,
) {
  if (linkHost === undefined || isOurs === undefined) return undefined;
  const { name } = link ?? {};
  const there = typeof name === "string" && name !== "" ? name : path;
  const place = writeAddress(linkHost, path);
  return { host: new URL(linkHost).host, place, ...(link && { there }) };
}

/** Lists every link path that the input may mean. */
export function listNamedPaths({ exact, loose, address }: NamedLink): readonly string[] {
  const elsewhere = address !== undefined && address.isOurs !== true ? [address.path] : [];
  return [...new Set([...exact, ...loose, ...elsewhere])].filter((path) => path !== "");
}

type LinkPaths = { readonly path?: unknown; readonly shortened_path?: unknown };

/** Returns the links that the input refers to. If there are several, the input is ambiguous. */
export function pickNamedLinks<Link extends LinkPaths>(
  { exact, loose }: NamedLink,
  links: readonly Link[],
): readonly Link[] {
  for (const path of exact) {
    // A visited URL opens the link with that path, or else the link with that short path.
    for (const read of [readPathOf, readShortPathOf]) {
      const found = links.filter((link) => read(link) === path);
      if (found.length > 0) return found;
    }
  }
  return links.filter((link) => loose.some((path) => isReachedBy(link, path)));
}

export function isReachedBy(link: LinkPaths, path: string): boolean {
  return readPathOf(link) === path || readShortPathOf(link) === path;
}

/**
 * Decodes the link's path, because a remote server's paths may have a leading slash or
 * percent-encoding.
 */
export function readPathOf({ path }: LinkPaths): string {
  return typeof path === "string" ? decodeForSearch(path) : "";
}

function readShortPathOf({ shortened_path: path }: LinkPaths): string {
  return typeof path === "string" ? decodeForSearch(path) : "";
}

/** `hosts` are origins. Their ports are ignored, because a server's port may change. */
export function readNamedLink(given: string, hosts: readonly string[]): NamedLink {
  const written = decodeForSearch(given);
  const address = readNamedAddress(given, hosts);
  if (address !== undefined) {
    // The URL may be on another host, so only the whole input is compared with link paths.
    if (address.isOurs !== true) return { exact: [written], loose: [], address };
    const { path } = address;
    return { exact: dropBlanks([written, path]), loose: dropBlanks([toggleSlash(path)]), address };
  }
  const [bare = ""] = given.trim().split(/[?#]/, 1);
  const path = decodeForSearch(bare);
  return { exact: dropBlanks([written]), loose: dropBlanks([path, toggleSlash(path)]) };
}

function readNamedAddress(given: string, hosts: readonly string[]): NamedAddress | undefined {
  const text = given.trim();
  const ours = hosts.flatMap((origin) => readUrl(origin)?.hostname ?? []);
  const hasScheme = /^https?:\/\//i.test(text);
  const scheme = hosts[0]?.startsWith("http:") === true ? "http:" : "https:";
  const whole = hasScheme ? text : `${scheme}//${text}`;
  const url = readUrl(whole);
  if (url === undefined || url.username + url.password !== "") return undefined;
  const { hostname, pathname } = url;
  const isOurs = ours.includes(hostname);
  // Without a scheme, only input that looks like a host is treated as a URL.
  if (!hasScheme && !isOurs && !looksLikeHost(text)) return undefined;
  return {
    host: url.host,
    isOurs: ours.length === 0 ? undefined : isOurs,
    text: whole,
    path: decodeForSearch(pathname),
  };
}

/** Whether the input starts like a domain, followed by a path. */
function looksLikeHost(text: string): boolean {
  return /^[a-z\d-]+(\.[a-z\d-]+)*\.[a-z]{2,}(:\d+)?\/./i.test(text);
}

function toggleSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
}

/** Drops blank paths, because a filter with a blank value would match every link. */
function dropBlanks(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].filter((path) => path.replaceAll("/", "").trim() !== "");
}

type NamingFields<Row> = {
  /** A value that is unique per row, such as a bundle ID. */
  readonly unique: (row: Row) => string;
  readonly name: (row: Row) => string;
};

/**
 * Finds apps or projects by their exact unique value, else by their exact name, else by either one,
 * ignoring case.
 */
export function pickNamed<Row>(
  rows: readonly Row[],
  given: string,
  { unique, name }: NamingFields<Row>,
): readonly Row[] {
  const text = given.trim().normalize("NFC");
  const folded = fold(text);
  const ways = [
    (row: Row) => unique(row).normalize("NFC") === text,
    (row: Row) => name(row).normalize("NFC") === text,
    (row: Row) => fold(unique(row)) === folded || fold(name(row)) === folded,
  ];
  const found = ways.map((fits) => rows.filter(fits));
  return text === "" ? [] : (found.find(({ length }) => length > 0) ?? []);
}
