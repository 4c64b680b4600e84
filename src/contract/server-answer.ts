/** Quotes a remote server, so that no one reads its words as Waypost's. */

/** The messages that the specification itself shows: any server may send them unquoted. */
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

/** A 422 joins several of them in one sentence. */
function isSpecifiedMessage(message: string): boolean {
  return message.split(/, and |, | and /).every((clause) => specifiedMessages.has(clause));
}

/** `server` is a remote server's host name; undefined for the embedded service. */
export function quoteAnswer(server: string | undefined, words: string): string {
  if (server === undefined || isSpecifiedMessage(words)) return words;
  return `The server at ${server} answered: ${JSON.stringify(words.replace(/\s+/g, " "))}`;
}

/**
 * Undoes `quoteAnswer` and keeps what follows the quotation. Code that looks for words in a message
 * must not find them in the name of the host.
 */
export function readAnswer(message: string): string {
  return message.replace(quotation, (_, quoted: string) => String(JSON.parse(quoted)));
}

const quotation = /^The server at \S+ answered: ("(?:[^"\\]|\\.)*")/;
