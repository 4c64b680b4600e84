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
    if (size > replyBytes) throw new ReplyTooLarge("its answer is larger than 8 MiB");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What came, if it is what was asked for: the text of a page, or the data of JSON. */
export function readContent(text: string, isPage: boolean, type: unknown): unknown {
  if (!isPage) return readJson(text);
  return /^text\/html\s*(;|$)/i.test(String(type)) ? text : undefined;
}

/** The JSON of a reply: null for an empty body, undefined for anything that is no JSON. */
function readJson(text: string): unknown {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
