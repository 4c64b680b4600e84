/** Quotes the messages of remote servers, so that no one mistakes them for Waypost's own. */

/**
 * Messages that the API's specification contains. Any server may send them, so they stay unquoted.
 */
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

/** A 422 joins several messages in one sentence. */
function isSpecifiedMessage(message: string): boolean {
  return message.split(/, and |, | and /).every((clause) => specifiedMessages.has(clause));
}

/** `server` is a remote server's host name, or undefined for Waypost's own service. */
export function quoteAnswer(server: string | undefined, words: string): string {
  if (server === undefined || isSpecifiedMessage(words)) return words;
  return `The server at ${server} answered: ${JSON.stringify(words.replace(/\s+/g, " "))}`;
}

/**
 * Removes the quotation and keeps the text after it. Code that searches a message for words must
 * not find them in the host name.
 */
export function readAnswer(message: string): string {
  return message.replace(quotation, (_, quoted: string) => String(JSON.parse(quoted)));
}

const quotation = /^The server at \S+ answered: ("(?:[^"\\]|\\.)*")/;

/**
 * Records the parts of a server's answer that could not be read. They are stored separately from
 * the answer, so that they never appear in results.
 */
export type UnreadPart = {
  /** The index of a dropped row on its page. The row had no usable id. */
  readonly row?: number;
  /** A field that was dropped because it has the wrong type. */
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

/** The indexes of the rows that were dropped. */
export function listUnreadRows(body: object): readonly number[] {
  return listUnread(body).flatMap(({ row }) => row ?? []);
}
