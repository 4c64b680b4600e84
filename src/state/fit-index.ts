import { createHash } from "node:crypto";

/** PostgreSQL refuses a row whose part of an index has 2.7 KB; a project and a time go with it. */
const most_bytes = 2000;
const keptCharacters = 200;

/**
 * A text as every engine takes it into an index, to be stored and looked for. No name in our own
 * service is so long that it is another; of what a deployment elsewhere has, or somebody asks for
 * in vain, the beginning is kept, and what tells it from all others.
 */
export function fitIndex(text: string): string {
  if (Buffer.byteLength(text) <= most_bytes) return text;
  const digest = createHash("sha256").update(text).digest("base64url");
  return `${text.slice(0, keptCharacters).toWellFormed()}… (${digest})`;
}
