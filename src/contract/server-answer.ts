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
