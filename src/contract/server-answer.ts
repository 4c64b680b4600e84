/** Quotes the messages of remote servers, so that no one mistakes them for Waypost's own. */

/** Messages from the API's specification. Any server may send them, so they need no quotes. */
const specifiedMessages: ReadonlySet<string> = new Set([
  "iOS app not found",
  "Android app not found",
  "Bundle can't be blank",
  "Bundle is invalid",
  "Bundle has already been taken",
  "Team is the wrong length (should be 10 characters)",
  "Clip bundle is invalid",
  "Package name can't be blank",
  "Package name is invalid",
  "Package name has already been taken",
  "Fingerprints can't be blank",
  "Fingerprints is invalid",
]);

/** A 422 can join several messages in one sentence. */
function isSpecifiedMessage(message: string): boolean {
  return message.split(/, and |, | and /).every((clause) => specifiedMessages.has(clause));
}

/** `server` is a remote server's host name, or undefined for the embedded service. */
export function quoteAnswer(server: string | undefined, words: string): string {
  if (server === undefined || isSpecifiedMessage(words)) return words;
  return `The server at ${server} answered: ${JSON.stringify(words.replace(/\s+/g, " "))}`;
}

/** Removes the quotes and the host name, so that a search for words cannot match the host name. */
export function readAnswer(message: string): string {
  return message.replace(quotation, (_, quoted: string) => String(JSON.parse(quoted)));
}

const quotation = /^The server at \S+ answered: ("(?:[^"\\]|\\.)*")/;

/**
 * A part of a server's response that could not be parsed. Stored apart from the response, so that
 * it never appears in results.
 */
export type UnreadPart = {
  /** The index of a dropped row on its page. The row had no usable id. */
  readonly row?: number;
  /** A field that was dropped because of its wrong type. */
  readonly field?: string;
  readonly message: string;
};

const unreadParts = new WeakMap<object, readonly UnreadPart[]>();

export function noteUnread<Body extends object>(body: Body, parts: readonly UnreadPart[]): Body {
  if (parts.length > 0) unreadParts.set(body, parts);
  return body;
}

export function listUnread(body: object): readonly UnreadPart[] {
  return unreadParts.get(body) ?? [];
}

export function listUnreadRows(body: object): readonly number[] {
  return listUnread(body).flatMap(({ row }) => row ?? []);
}
