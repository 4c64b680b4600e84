import type { IncomingMessage } from "node:http";

/** The parts of Node's request that are used to read its body. */
export type Incoming = Pick<IncomingMessage, "headers" | "rawHeaders" | "iterator" | "socket">;

/** A request with a body. If a `Request` was made from Node's request, only Node's may be read. */
export type WithBody = Request | Incoming;

/** Reading waits for `until` after this many bytes, and stops if the result is false. */
export type Pause = { readonly after: number; readonly until: () => Promise<boolean> };

/** Reads a body up to a size; undefined if it is larger. */
export async function readAtMost(
  message: WithBody,
  most: number,
  pause?: Pause,
): Promise<Buffer | undefined> {
  if (Number(readLength(message) ?? 0) > most) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Counted on arrival, because the declared length may be missing or wrong.
  for await (const chunk of openBody(message)) {
    size += chunk.byteLength;
    if (size > most) return undefined;
    const isOver =
      pause !== undefined && size > pause.after && size - chunk.byteLength <= pause.after;
    if (isOver && !(await pause.until())) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The declared length, if any. */
export function readLength(message: WithBody): string | null | undefined {
  return isOfNode(message)
    ? message.headers["content-length"]
    : message.headers.get("content-length");
}

/**
 * Reads Node's request directly, because the stream of a `Request` is slow and keeps the bytes in
 * memory until the response. If reading stops early, the connection stays open for the response.
 */
function openBody(message: WithBody): AsyncIterable<Uint8Array> | [] {
  return isOfNode(message) ? message.iterator({ destroyOnReturn: false }) : (message.body ?? []);
}

function isOfNode(message: WithBody): message is Incoming {
  return "rawHeaders" in message;
}
