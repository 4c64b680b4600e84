/** Quotes a remote server in a sentence, so that no one reads its words as Waypost's. */

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
export function isSpecifiedMessage(message: string): boolean {
  return message.split(/, and |, | and /).every((clause) => specifiedMessages.has(clause));
}

/** `quoted` is the server's text as a JSON string. */
export function attributeAnswer(host: string, quoted: string): string {
  return `The server at ${host} answered: ${quoted}`;
}
