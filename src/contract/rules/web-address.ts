import { limits } from "../limits.ts";
import { hasControls, isStorable } from "../text.ts";

/** Validates web addresses, and formats them for headers and strict parsers. */

/**
 * Returns the fault of an http or https URL, worded to complete a sentence, or undefined. URLs are
 * stored as written, so anything that a browser would silently repair is rejected.
 */
export function findWebAddressFault(address: string): string | undefined {
  if (readPlainHost(address) !== undefined) return undefined;
  const broken = findBrokenText(address);
  if (broken !== undefined) return broken;
  const isNamed = namedAddress.test(address);
  if (!isNamed || readUrl(address) === undefined) {
    return "must be an http or https address";
  }
  const ambiguous = findAmbiguity(address);
  if (ambiguous !== undefined) return ambiguous;
  if (hasLogin(address)) return "can't contain a user name or password";
  return undefined;
}

/** The maximum length of a host name. Parsing a longer one is slow. */
const longestHost = 255;
const namedAddress = new RegExp(`^https?://[^\\\\/][^/?#]{0,${longestHost}}(?:[/?#]|$)`, "i");

/**
 * Matches URLs with a host that a URL parser would return unchanged: lowercase, without a port, and
 * not an IP address.
 */
const plainAddress =
  /^https?:\/\/((?:[a-z\d]+(?:-[a-z\d]+)*\.)*[a-z][a-z\d]*)(?:[/?#][\x21-\x5b\x5d-\x7e]*)?$/;

/**
 * Returns the host of an obviously valid URL without parsing the URL, otherwise undefined. Parsing
 * would take as long as looking up the link.
 */
export function readPlainHost(address: string): string | undefined {
  if (address.length > limits.web_address_characters) return undefined;
  const host = plainAddress.exec(address)?.[1];
  return host !== undefined && host.length <= longestHost ? host : undefined;
}

/** Finds faults that are possible in URLs of any scheme. */
export function findAddressDamage(address: string): string | undefined {
  return findBrokenText(address) ?? findAmbiguity(address);
}

function findBrokenText(address: string): string | undefined {
  if (!isStorable(address) || hasControls(address)) return "contains control characters";
  if (address.length > limits.web_address_characters) {
    return `is too long (maximum is ${limits.web_address_characters} characters)`;
  }
  return undefined;
}

function findAmbiguity(address: string): string | undefined {
  if (/\s/u.test(address)) return "can't contain white space";
  // Browsers read a backslash as a slash and other programs do not, so they see different hosts.
  if (address.includes("\\")) return "can't contain a backslash";
  return undefined;
}

/** Encodes a valid URL for a header. An ASCII URL stays unchanged. */
export function writeForHeader(address: string): string {
  return /^[\x21-\x7e]+$/.test(address) ? address : new URL(address).href;
}

/**
 * Encodes a URL for strict RFC 3986 parsers, such as iOS before 17. After the host, characters that
 * the RFC does not allow are percent-encoded.
 */
export function writeForStrictReader(address: string): string {
  const isAscii = /^[\x21-\x7e]*$/.test(address);
  const written = isAscii ? address : (readUrl(address)?.href ?? address.toWellFormed());
  const [host = ""] = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i.exec(written) ?? [];
  const [rest = "", ...fragment] = written.slice(host.length).split("#");
  const end = fragment.length === 0 ? rest : `${rest}#${fragment.join("%23")}`;
  return host + end.replace(strayCharacter, encodeURIComponent);
}

const strayCharacter = /[^\w.~:/?#@!$&'()*+,;=%-]|%(?![\dA-Fa-f]{2})/gu;

/** Everything before an @ in the authority is a user name and password, even if empty. */
export function hasLogin(address: string): boolean {
  return /^https?:\/\/[^/?#]*@/i.test(address);
}

/**
 * Returns undefined for an invalid URL. Does not call `URL.canParse`: once V8 has optimized that
 * function, Node 20 and 22 reject host names such as müller.example.
 */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
