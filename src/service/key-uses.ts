import type { Clock, SetAlarm } from "../contract/clock.ts";
import { createFlusher } from "../store/flusher.ts";
import { noteKeyUses } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/**
 * When keys were last used, for whoever wonders whether one is still needed. It is noted in memory
 * and written beside the requests: a key that is used all the time is written down now and then.
 */
export type KeyUses = {
  readonly note: (keyId: string) => void;
  /** Writes what is left. */
  readonly close: () => Promise<void>;
};

type Options = {
  readonly store: Pick<Store, "write">;
  readonly clock: Pick<Clock, "now">;
  readonly setAlarm: SetAlarm;
};

const writesAfter_ms = 1000;
const exact_ms = 5 * 60_000;
/** More than this many are noted anew. */
const mostKeys = 10_000;

export function createKeyUses({ store, clock, setAlarm }: Options): KeyUses {
  /** Of the keys that were used lately, when that was noted. */
  const noted = new Map<string, number>();
  let waiting = new Map<string, number>();

  const { schedule, close } = createFlusher(
    async () => {
      const uses = waiting;
      waiting = new Map();
      if (uses.size === 0) return;
      try {
        await store.write((db) => noteKeyUses(db, uses), { isPatient: true });
      } catch {
        // Requests that need the store report its fault; the next use is noted again.
        for (const id of uses.keys()) noted.delete(id);
      }
    },
    setAlarm,
    writesAfter_ms,
  );

  return {
    note: (keyId) => {
      const now = clock.now();
      const last = noted.get(keyId);
      if (last !== undefined && Math.abs(now - last) < exact_ms) return;
      if (noted.size >= mostKeys) noted.clear();
      noted.set(keyId, now);
      waiting.set(keyId, now);
      void schedule();
    },
    close,
  };
}
