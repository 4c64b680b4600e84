import { readAtMost, type WithBody } from "./read-at-most.ts";

/** A sender without a valid key or session may send this many bytes. */
export const mostKeylessBytes = 64 * 1024;

const mostUnfinished = 32;

/** An unfinished body older than this makes way for a new one. */
const slow_ms = 2000;

/** Reads a body; undefined for one above 64 KB, "busy" for one that has no place. */
export type ReadKeyless = (message: WithBody) => Promise<Buffer | undefined | "busy">;

type Unfinished = { readonly since: number; readonly end: () => void };

/** Reads bodies that anyone may send, so at most 32 of them are unfinished at a time. */
export function createKeylessReader(monotonic: () => number): ReadKeyless {
  // In the order of their arrival.
  const unfinished = new Set<Unfinished>();

  function makeRoom(newcomer: Unfinished): void {
    if (!unfinished.has(newcomer) || unfinished.size <= mostUnfinished) return;
    const [oldest = newcomer] = unfinished;
    const isSlow = monotonic() - oldest.since > slow_ms;
    (isSlow ? oldest : newcomer).end();
  }

  return (message) =>
    new Promise((resolve, reject) => {
      const reading = {
        since: monotonic(),
        end: () => {
          unfinished.delete(reading);
          resolve("busy");
        },
      };
      unfinished.add(reading);
      if (unfinished.size > mostUnfinished) {
        // A body that has arrived whole is read by then, and needs no place.
        setImmediate(() => makeRoom(reading));
      }
      readAtMost(message, mostKeylessBytes)
        .finally(() => unfinished.delete(reading))
        .then(resolve, reject);
    });
}
