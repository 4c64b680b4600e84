import type { IncomingMessage } from "node:http";

/** What is used of Node's own message, where a `Request` was made of one. */
export type Incoming = Pick<IncomingMessage, "headers" | "rawHeaders" | "iterator" | "socket">;

/** A message with a body; where there is Node's own, its `Request` is not to be read. */
export type WithBody = Request | Incoming;

/** A sender of this many bytes waits until the rest may come; false where it never may. */
export type Pause = { readonly after: number; readonly until: () => Promise<boolean> };

/** The bytes of a message's body; undefined where they are more than that. */
export async function readAtMost(
  message: WithBody,
  most: number,
  pause?: Pause,
): Promise<Buffer | undefined> {
  if (Number(readLength(message) ?? 0) > most) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // They are counted as they arrive: a declared length may lie, and there may be none.
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

/** In bytes, where it says so. */
export function readLength(message: WithBody): string | null | undefined {
  return isOfNode(message)
    ? message.headers["content-length"]
    : message.headers.get("content-length");
}

/**
 * Node's own message is read itself: the stream of a `Request` around it costs more than all else
 * of an answer, and once that is made it takes the same bytes beside us, and keeps them until the
 * answer. Whoever stops reading leaves the connection open, to be answered on it.
 */
function openBody(message: WithBody): AsyncIterable<Uint8Array> | [] {
  return isOfNode(message) ? message.iterator({ destroyOnReturn: false }) : (message.body ?? []);
}

function isOfNode(message: WithBody): message is Incoming {
  return "rawHeaders" in message;
}
