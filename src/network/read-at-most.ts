import type { IncomingMessage } from "node:http";

/** What is used of Node's own message, where a `Request` was made of one. */
export type Incoming = Pick<IncomingMessage, "rawHeaders" | "iterator">;

/** The bytes of a request's body; undefined where they are more than that. */
export async function readAtMost(
  request: Request,
  most: number,
  incoming?: Incoming,
): Promise<Buffer | undefined> {
  if (Number(request.headers.get("content-length") ?? 0) > most) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // They are counted as they arrive: a declared length may lie, and there may be none.
  for await (const chunk of openBody(request, incoming)) {
    size += chunk.byteLength;
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Of Node's own message, where there is one: the stream of a `Request` around it costs more than
 * all else of an answer. Nor may its `body` be looked at then, which makes that stream: it would
 * take the same bytes beside us, and keep them until the answer. Whoever stops reading leaves the
 * connection open, to be answered on it.
 */
function openBody(request: Request, incoming?: Incoming): AsyncIterable<Uint8Array> | [] {
  return incoming?.iterator({ destroyOnReturn: false }) ?? request.body ?? [];
}
