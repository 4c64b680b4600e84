import type { IncomingMessage } from "node:http";
import { findAddressGroup } from "./ip-address.ts";

/** Reads the bodies of requests, up to a size limit. */

export type Incoming = Pick<IncomingMessage, "headers" | "rawHeaders" | "iterator" | "socket">;

/**
 * A request with a body. If Node's request is available, pass it instead of a `Request` that wraps
 * it.
 */
export type WithBody = Request | Incoming;

/**
 * Reading pauses after `after` bytes until `until` resolves. If it resolves to false, reading
 * stops.
 */
export type Pause = { readonly after: number; readonly until: () => Promise<boolean> };

/** Reads a body. Returns undefined if it is larger than the size limit. */
export async function readAtMost(
  message: WithBody,
  most: number,
  pause?: Pause,
): Promise<Buffer | undefined> {
  if (Number(readLength(message) ?? 0) > most) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Counted while reading, because the declared length may be missing or wrong.
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

export function readLength(message: WithBody): string | null | undefined {
  return isOfNode(message)
    ? message.headers["content-length"]
    : message.headers.get("content-length");
}

/**
 * Node's request is read directly, because the stream of a `Request` is slow and keeps all bytes in
 * memory until the response. If reading stops early, the connection stays open for the response.
 */
function openBody(message: WithBody): AsyncIterable<Uint8Array> | [] {
  return isOfNode(message) ? message.iterator({ destroyOnReturn: false }) : (message.body ?? []);
}

function isOfNode(message: WithBody): message is Incoming {
  return "rawHeaders" in message;
}

/** The maximum body size for senders without a valid key or session. */
export const mostKeylessBytes = 64 * 1024;

const mostUnfinished = 32;

/** After this time, an unfinished body may be dropped in favor of a new one. */
const slow_ms = 2000;

/**
 * Reads a body. Returns undefined if the body is too large, and "busy" if too many bodies are
 * unfinished.
 */
export type ReadKeyless = (
  message: WithBody,
  address: string | undefined,
) => Promise<Buffer | undefined | "busy">;

type Unfinished = { readonly since: number; readonly sender: string; readonly end: () => void };

/**
 * Reads bodies that anyone may send, at most 32 at the same time. If more arrive, a body of the
 * sender with the most unfinished bodies is dropped. So slow uploads from one IP address do not
 * block other senders.
 */
export function createKeylessReader(monotonic: () => number): ReadKeyless {
  const unfinished = new Set<Unfinished>();

  function makeRoom(newcomer: Unfinished): void {
    if (!unfinished.has(newcomer) || unfinished.size <= mostUnfinished) return;
    const largest = findLargestSender([...unfinished], newcomer.sender);
    if (largest !== newcomer.sender) {
      return [...unfinished].find(({ sender }) => sender === largest)?.end();
    }
    const [oldest = newcomer] = unfinished;
    (monotonic() - oldest.since > slow_ms ? oldest : newcomer).end();
  }

  return (message, address) =>
    new Promise((resolve, reject) => {
      const reading = {
        since: monotonic(),
        sender: address === undefined ? "" : findAddressGroup(address),
        end: () => {
          unfinished.delete(reading);
          resolve("busy");
        },
      };
      unfinished.add(reading);
      if (unfinished.size > mostUnfinished) {
        // Wait, so that bodies that have already arrived are read first.
        setImmediate(() => makeRoom(reading));
      }
      readAtMost(message, mostKeylessBytes)
        .finally(() => unfinished.delete(reading))
        .then(resolve, reject);
    });
}

/** Finds the sender with the most unfinished bodies. Prefers the newcomer in a tie. */
function findLargestSender(unfinished: readonly Unfinished[], newcomer: string): string {
  const counts = new Map<string, number>([[newcomer, 0]]);
  for (const { sender } of unfinished) counts.set(sender, (counts.get(sender) ?? 0) + 1);
  const [largest] = [...counts].reduce((most, next) => (next[1] > most[1] ? next : most));
  return largest;
}
