import { limits } from "../limits.ts";
import { hasControls, isStorable } from "../text.ts";

/**
 * What is wrong with a web address that a visitor will be sent to, as the end of a sentence, or
 * undefined. The address is stored as it was written, so what a browser would quietly repair (a
 * missing slash, a control character) is refused.
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

/** A name in the internet is at most this long, and a longer one is slow to be read as one. */
const longestHost = 255;
const namedAddress = new RegExp(`^https?://[^\\\\/][^/?#]{0,${longestHost}}(?:[/?#]|$)`, "i");

/** No port, and a last label that cannot be a number's: such a host is read as it is written. */
const plainAddress =
  /^https?:\/\/((?:[a-z\d]+(?:-[a-z\d]+)*\.)*[a-z][a-z\d]*)(?:[/?#][\x21-\x5b\x5d-\x7e]*)?$/;

/**
 * The host of an address in which nothing is amiss: most are such, and to parse one costs as much
 * as to look it up. Undefined of any other, good or bad.
 */
export function readPlainHost(address: string): string | undefined {
  if (address.length > limits.web_address_characters) return undefined;
  const host = plainAddress.exec(address)?.[1];
  return host !== undefined && host.length <= longestHost ? host : undefined;
}

/** What spoils an address of any scheme. */
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
  // Browsers read a backslash as a slash and others do not, so two readers see two hosts.
  if (address.includes("\\")) return "can't contain a backslash";
  return undefined;
}

/** A sound address as a header can carry it: verbatim, unless there are other letters in it. */
export function writeForHeader(address: string): string {
  return /^[\x21-\x7e]+$/.test(address) ? address : new URL(address).href;
}

/**
 * An address for a reader that goes by RFC 3986, as iOS does before 17, which takes any other for
 * none at all: what has no place behind the host is percent-encoded.
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

/** Everything before an @ in the host's place is a name and a password, even when it is empty. */
export function hasLogin(address: string): boolean {
  return /^https?:\/\/[^/?#]*@/i.test(address);
}

/**
 * `URL.canParse` would do, but once V8 has optimised it, Node 20 and 22 have it say no to a host
 * name such as müller.example.
 */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
