import type { Clock } from "../../contract/clock.ts";

/**
 * How much this process keeps for clients between their requests: sessions and subscriptions of
 * all keys together. What is in use never ends for the sake of something new, which is refused.
 */

/** A session, or a stream that a client listens to. */
export type Kept = {
  /** Who has opened it: a key, as it is used from one address. */
  readonly client: string;
  readonly bytes: number;
  /** By the monotonic clock; undefined while somebody uses it. */
  readonly unusedSince: () => number | undefined;
  /** Releases it before it returns. */
  readonly end: () => void;
};

export type SessionLimits = {
  /** False where there is no room for it. */
  readonly admit: (wanted: Kept) => boolean;
  readonly release: (kept: Kept) => void;
  /** Of what lasts as long as somebody listens; undefined where there is no room for it. */
  readonly admitStream: (
    client: string,
    message_bytes: number,
  ) => { readonly release: () => void } | undefined;
};

export const megabyte = 1024 * 1024;
export const most_bytes = 160 * megabyte;
/** A gateway's users share one key and one address, and may well be all that there are. */
export const mostOfClient_bytes = 80 * megabyte;
/** What was not used for so long ends where room is needed: its client begins anew by itself. */
const unused_ms = 5 * 60_000;
/** Measured: 20 KB for a session, 50 KB with a client that listens to it, its connection in. */
const each_bytes = 64 * 1024;
/** What is kept of a message takes several times its length as objects. */
const bytesOfByte = 8;

/** What is counted for one that began with a message of so many bytes. */
export function countBytes(message_bytes: number): number {
  return each_bytes + bytesOfByte * message_bytes;
}

export function createSessionLimits({ monotonic }: Pick<Clock, "monotonic">): SessionLimits {
  const all = new Set<Kept>();

  return {
    admit,
    release: (kept) => void all.delete(kept),
    admitStream: (client, message_bytes) => {
      const bytes = countBytes(message_bytes);
      const stream = { client, bytes, unusedSince: () => undefined, end: () => {} };
      return admit(stream) ? { release: () => void all.delete(stream) } : undefined;
    },
  };

  function admit(wanted: Kept): boolean {
    const ofClient = [...all].filter(({ client }) => client === wanted.client);
    const hasRoom =
      makeRoom(ofClient, mostOfClient_bytes - wanted.bytes) &&
      makeRoom([...all], most_bytes - wanted.bytes);
    if (hasRoom) all.add(wanted);
    return hasRoom;
  }

  /** Ends as few as it takes, unused for the longest time first, and none in vain. */
  function makeRoom(kept: readonly Kept[], most: number): boolean {
    let held = sumBytes(kept);
    if (held <= most) return true;
    const unused = listUnused(kept);
    if (held - sumBytes(unused) > most) return false;
    for (const one of unused) {
      if (held <= most) break;
      one.end();
      held -= one.bytes;
    }
    return true;
  }

  function listUnused(kept: readonly Kept[]): readonly Kept[] {
    const before = monotonic() - unused_ms;
    return kept
      .flatMap((one) => {
        const since = one.unusedSince();
        return since === undefined || since > before ? [] : { one, since };
      })
      .toSorted((a, b) => a.since - b.since)
      .map(({ one }) => one);
  }
}

function sumBytes(kept: readonly Kept[]): number {
  return kept.reduce((sum, { bytes }) => sum + bytes, 0);
}
