import { writeAddress } from "./link-address.ts";
import { decodeForSearch } from "./link-path.ts";
import { readUrl } from "./web-address.ts";

/** The paths that a text may stand for by which a person names a link. */

export type NamedLink = {
  /** As it was written, and as an address has it: of these the first that a link has is meant. */
  readonly exact: readonly string[];
  /** Without its query, and with or without a slash at its end. */
  readonly loose: readonly string[];
  /** Where the text is an address. */
  readonly address?: NamedAddress;
};

export type NamedAddress = {
  readonly host: string;
  /** Undefined where nobody knows the hosts of the project's links. */
  readonly isOurs: boolean | undefined;
  /** With its scheme. */
  readonly text: string;
  readonly path: string;
};

/** Where the same path is here, and what is there; undefined where nobody knows our host. */
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

/** Every path that it may stand for. */
export function listNamedPaths({ exact, loose, address }: NamedLink): readonly string[] {
  const elsewhere = address !== undefined && address.isOurs !== true ? [address.path] : [];
  return [...new Set([...exact, ...loose, ...elsewhere])].filter((path) => path !== "");
}

/** What a link is reached by, as any deployment may show it. */
type Reached = { readonly path?: unknown; readonly shortened_path?: unknown };

/** Those of the links that the text names: where it is more than one, nobody knows which. */
export function pickNamedLinks<Link extends Reached>(
  { exact, loose }: NamedLink,
  links: readonly Link[],
): readonly Link[] {
  for (const path of exact) {
    // As a visitor of the address: the link at the path, else the one with that short path.
    for (const read of [readPathOf, readShortPathOf]) {
      const found = links.filter((link) => read(link) === path);
      if (found.length > 0) return found;
    }
  }
  return links.filter((link) => loose.some((path) => isReachedBy(link, path)));
}

export function isReachedBy(link: Reached, path: string): boolean {
  return readPathOf(link) === path || readShortPathOf(link) === path;
}

/** Another deployment may store paths with a leading slash, or encoded. */
export function readPathOf({ path }: Reached): string {
  return typeof path === "string" ? decodeForSearch(path) : "";
}

function readShortPathOf({ shortened_path: path }: Reached): string {
  return typeof path === "string" ? decodeForSearch(path) : "";
}

/** `hosts` are origins: of one host every port counts, for a port may be another tomorrow. */
export function readNamedLink(given: string, hosts: readonly string[]): NamedLink {
  const written = decodeForSearch(given);
  const address = readNamedAddress(given, hosts);
  if (address !== undefined) {
    // On another host nothing but the text itself can be one of our paths.
    if (address.isOurs !== true) return { exact: [written], loose: [], address };
    const { path } = address;
    return { exact: keep([written, path]), loose: keep([toggleSlash(path)]), address };
  }
  const [bare = ""] = given.trim().split(/[?#]/, 1);
  const path = decodeForSearch(bare);
  return { exact: keep([written]), loose: keep([path, toggleSlash(path)]) };
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
  // Without a scheme, what looks like a host may be the beginning of a path.
  if (!hasScheme && !isOurs && !looksLikeHost(text)) return undefined;
  return {
    host: url.host,
    isOurs: ours.length === 0 ? undefined : isOurs,
    text: whole,
    path: decodeForSearch(pathname),
  };
}

/** A name with a domain's end, and something behind it. */
function looksLikeHost(text: string): boolean {
  return /^[a-z\d-]+(\.[a-z\d-]+)*\.[a-z]{2,}(:\d+)?\/./i.test(text);
}

function toggleSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
}

/** A blank filter would be ignored, and everything found. */
function keep(paths: readonly string[]): readonly string[] {
  return [...new Set(paths)].filter((path) => path.replaceAll("/", "").trim() !== "");
}
