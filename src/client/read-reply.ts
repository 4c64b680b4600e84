/** A reply's body, but never more of it than any answer of the API needs. */

const replyBytes = 8 * 1024 * 1024;

export class ReplyTooLarge extends Error {
  override readonly name = "ReplyTooLarge";
}

export async function readStream(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > replyBytes) throw new ReplyTooLarge("an answer larger than 8 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What a body is read as: the data of JSON, the text of a page, or whatever a refusal says. */
export type BodyForm = "data" | "page" | "words";

/** What came, if it is what was asked for; words are data as well, or else any text. */
export function readContent(text: string, form: BodyForm, type: unknown): unknown {
  if (form === "page") return /^text\/html\s*(;|$)/i.test(String(type)) ? text : undefined;
  const data = readJson(text);
  return data === undefined && form === "words" ? text : data;
}

/** The JSON of a reply: null for an empty body, undefined for anything that is no JSON. */
function readJson(text: string): unknown {
  if (text.trim() === "") return null;
  try {
    // Some servers begin with a byte order mark, which is no part of JSON.
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}
