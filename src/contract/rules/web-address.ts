import { limits } from "../limits.ts";
import { hasControls, isStorable } from "../text.ts";

/**
 * The fault of a web address for visitors, as the end of a sentence, or undefined. Addresses are
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

/** Host names are shorter than this, and parsing a longer one is slow. */
const longestHost = 255;
const namedAddress = new RegExp(`^https?://[^\\\\/][^/?#]{0,${longestHost}}(?:[/?#]|$)`, "i");

/** No port, and a last label that cannot be a number, so parsing does not change the host. */
const plainAddress =
  /^https?:\/\/((?:[a-z\d]+(?:-[a-z\d]+)*\.)*[a-z][a-z\d]*)(?:[/?#][\x21-\x5b\x5d-\x7e]*)?$/;

/**
 * The host of an address that is obviously valid, otherwise undefined. Most addresses are, and
 * parsing one takes as long as looking up its link.
 */
export function readPlainHost(address: string): string | undefined {
  if (address.length > limits.web_address_characters) return undefined;
  const host = plainAddress.exec(address)?.[1];
  return host !== undefined && host.length <= longestHost ? host : undefined;
}

/** Faults that can occur in addresses of any scheme. */
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

/** A valid address for a header: unchanged if it is ASCII, else encoded. */
export function writeForHeader(address: string): string {
  return /^[\x21-\x7e]+$/.test(address) ? address : new URL(address).href;
}

/**
 * An address for strict readers of RFC 3986, such as iOS before 17, which reject any other.
 * Characters that are not allowed after the host are percent-encoded.
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

/** Everything before an @ in the host's place is a user name and password, even if empty. */
export function hasLogin(address: string): boolean {
  return /^https?:\/\/[^/?#]*@/i.test(address);
}

/**
 * Does not use `URL.canParse`. Once V8 has optimized it, Node 20 and 22 reject host names such as
 * müller.example.
 */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
