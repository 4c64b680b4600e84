import { domainToUnicode } from "node:url";
import { showHidden, quote } from "./show-hidden.ts";

/** Formats a URL as people would type it. Warns about letters that look like others. */

export type ReadableAddress = {
  /** The URL with its host in Unicode and its path decoded. */
  readonly typed: string;
  /** The host in punycode (`xn--…`). Undefined if it equals the shown host. */
  readonly ascii: string | undefined;
  readonly warnings: readonly string[];
};

/** The maximum length of a host name. Longer names are invalid and slow to parse. */
const mostHost = 255;

/** Returns undefined if the text is not an http or https URL. */
export function showAddress(text: string): ReadableAddress | undefined {
  const url = /^https?:\/\/[^\\/?#]/i.test(text) ? readHost(text) : undefined;
  if (url === undefined) return undefined;
  const { protocol, hostname, port, pathname, search, hash } = url;
  const host = domainToUnicode(hostname) || hostname;
  const place = `${host}${port === "" ? "" : `:${port}`}`;
  const path = decode(pathname + search + hash);
  return {
    typed: showHidden(`${protocol}//${place}${path === "/" ? "" : path}`),
    ascii: host === hostname ? undefined : hostname,
    warnings: host.split(".").flatMap(findDeception),
  };
}

function readHost(text: string): URL | undefined {
  try {
    const url = new URL(text);
    return url.hostname.length > mostHost ? undefined : url;
  } catch {
    return undefined;
  }
}

/** Decodes a path for display, except for characters that delimit parts of a URL. */
function decode(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const scripts = [
  ["Latin", /\p{Script=Latin}/u],
  ["Cyrillic", /\p{Script=Cyrillic}/u],
  ["Greek", /\p{Script=Greek}/u],
  ["Armenian", /\p{Script=Armenian}/u],
  ["Cherokee", /\p{Script=Cherokee}/u],
  ["Hebrew", /\p{Script=Hebrew}/u],
  ["Arabic", /\p{Script=Arabic}/u],
  ["Georgian", /\p{Script=Georgian}/u],
  ["Thai", /\p{Script=Thai}/u],
  ["Devanagari", /\p{Script=Devanagari}/u],
  // Japanese, Korean and Chinese names mix these scripts with each other and with Latin letters.
  ["Han", /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u],
] as const;

const east = "Han";
/**
 * Cyrillic and Greek letters that look like Latin ones. A label with only such letters is
 * suspicious.
 */
const lookalikes = /^[аеорсухіјѕһԁԛԝгвкмтнӏοανρυικχωε\d-]+$/u;

/** Warns if a label of a host name could be mistaken for a different label. */
function findDeception(label: string): readonly string[] {
  const found = scripts.filter(([, pattern]) => pattern.test(label)).map(([name]) => name);
  const shown = JSON.stringify(showHidden(label));
  const isUsual = found.length === 2 && found[0] === "Latin" && found[1] === east;
  if (found.length > 1 && !isUsual) {
    const all = `${found.slice(0, -1).join(", ")} and ${found.at(-1)}`;
    return [`${shown} in the host mixes ${all} letters, which can look alike`];
  }
  const [script] = found;
  if (script === undefined || script === "Latin" || !lookalikes.test(label)) return [];
  return [`${shown} in the host is ${script} but looks like Latin letters`];
}

/**
 * Explains that a URL is not on the project's link host. Also describes the link with the same path
 * on the link host, because the user may have meant that link.
 */
export function describeForeignHost(
  host: string,
  /**
   * The link host, the URL of the same path on the link host, and the name of the link at that URL.
   */
  ours: { readonly host: string; readonly place: string; readonly there?: string } | undefined,
): string {
  if (ours === undefined) return `Waypost does not know whether ${quote(host)} is the link host`;
  const { place, there } = ours;
  const existing =
    there === undefined
      ? `No link exists at ${quote(place)}`
      : `The link at ${quote(place)} is ${quote(there)}`;
  return `the link host is ${quote(ours.host)}, not ${quote(host)}. ${existing}`;
}
