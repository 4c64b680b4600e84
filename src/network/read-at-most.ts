import type { IncomingMessage } from "node:http";

/** A client has so long for its whole request. */
export const request_ms = 30_000;

/** What is used of Node's own message, where a `Request` was made of one. */
export type Incoming = Pick<IncomingMessage, "headers" | "rawHeaders" | "iterator" | "socket">;

/** A message with a body; where there is Node's own, its `Request` is not to be read. */
export type WithBody = Request | Incoming;

/** Whoever has sent so much waits until the rest of it may come; undefined where it never may. */
export type Pause = { readonly after: number; readonly until: () => Promise<Rest | undefined> };

type Rest = {
  /** What is not there by then is not read any more. */
  readonly ended: Promise<void>;
  /** Told how much of the message is there. */
  readonly note: (size: number) => void;
};

/** The bytes of a message's body; undefined where they are more than that. */
export async function readAtMost(
  message: WithBody,
  most: number,
  pause?: Pause,
): Promise<Buffer | undefined> {
  if (Number(readLength(message) ?? 0) > most) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let rest: Rest | undefined;
  const body = pause === undefined ? openBody(message) : openEnding(message, () => rest);
  // They are counted as they arrive: a declared length may lie, and there may be none.
  for await (const chunk of body) {
    if (chunk === undefined) return undefined;
    size += chunk.byteLength;
    if (size > most) return undefined;
    rest?.note(size);
    const isOver =
      pause !== undefined && size > pause.after && size - chunk.byteLength <= pause.after;
    if (isOver) {
      rest = await pause.until();
      if (rest === undefined) return undefined;
    }
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

/** Undefined comes last where it is ended, though its sender may send nothing any more. */
async function* openEnding(
  message: WithBody,
  readRest: () => Rest | undefined,
): AsyncGenerator<Uint8Array | undefined> {
  const chunks = readEach(message);
  try {
    for (;;) {
      const ended = readRest()?.ended;
      const next = await (ended ? Promise.race([chunks.next(), ended]) : chunks.next());
      if (next?.done === true) return;
      yield next?.value;
    }
  } finally {
    // It waits for what comes next, which is dropped then. Nobody waits for that, or for its fault.
    chunks.return(undefined).catch(() => undefined);
  }
}

async function* readEach(message: WithBody): AsyncGenerator<Uint8Array, undefined> {
  yield* openBody(message);
}

function isOfNode(message: WithBody): message is Incoming {
  return "rawHeaders" in message;
}
