import type { Clock, SetAlarm } from "../contract/clock.ts";
import { createFlusher } from "../store/flusher.ts";
import { noteKeyUses } from "../store/keys.ts";
import type { Store } from "../store/store.ts";

/**
 * Records when keys were last used, so that people can find unused keys. Times are collected in
 * memory and written in the background, at most every few minutes per key.
 */
export type KeyUses = {
  readonly note: (keyId: string) => void;
  /** Writes the times that are left in memory. */
  readonly close: () => Promise<void>;
};

type KeyUsesOptions = {
  readonly store: Pick<Store, "write">;
  readonly clock: Pick<Clock, "now">;
  readonly setAlarm: SetAlarm;
};

const writesAfter_ms = 1000;
const exact_ms = 5 * 60_000;
/** Beyond this number, the record of recent writes is cleared. */
const mostKeys = 10_000;

export function createKeyUses({ store, clock, setAlarm }: KeyUsesOptions): KeyUses {
  /** The time when the use of each key was last recorded. */
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
        // Requests already report database problems. Forget these uses, so that the next ones are
        // recorded.
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
