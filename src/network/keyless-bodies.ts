import { findAddressGroup } from "./ip-address.ts";
import { readAtMost, type WithBody } from "./read-at-most.ts";

/** A sender without a valid key or session may send this many bytes. */
export const mostKeylessBytes = 64 * 1024;

const mostUnfinished = 32;

/** An unfinished body older than this makes way for a new one. */
const slow_ms = 2000;

/** Reads a body; undefined for one above 64 KB, "busy" for one that has no place. */
export type ReadKeyless = (
  message: WithBody,
  address: string | undefined,
) => Promise<Buffer | undefined | "busy">;

type Unfinished = { readonly since: number; readonly sender: string; readonly end: () => void };

/**
 * Reads bodies that anyone may send, so at most 32 of them are unfinished at a time. Above that,
 * the sender with the most gives one up, so slow bodies from one address lock out no one else.
 */
export function createKeylessReader(monotonic: () => number): ReadKeyless {
  // In the order of their arrival.
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
        // A body that has arrived whole is read by then, and needs no place.
        setImmediate(() => makeRoom(reading));
      }
      readAtMost(message, mostKeylessBytes)
        .finally(() => unfinished.delete(reading))
        .then(resolve, reject);
    });
}

/** The sender with the most unfinished bodies; the newcomer's where no other one has more. */
function findLargestSender(unfinished: readonly Unfinished[], newcomer: string): string {
  const counts = new Map<string, number>([[newcomer, 0]]);
  for (const { sender } of unfinished) counts.set(sender, (counts.get(sender) ?? 0) + 1);
  const [largest] = [...counts].reduce((most, next) => (next[1] > most[1] ? next : most));
  return largest;
}
