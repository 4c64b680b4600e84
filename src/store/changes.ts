import type { Clock } from "../contract/clock.ts";
import type { Store } from "./store.ts";

/** Tells whoever remembers rows when to look at them again. */
export type Changes = {
  /** A number that is another one after anything at all was written. */
  readonly read: () => Promise<number>;
};

/** How long another process's change may stay unseen: shorter than anybody notices. */
const trusted_ms = 20;

/**
 * Whatever this process writes is seen at once, and what another one writes when the store is
 * asked for its version again.
 */
export function watchChanges(
  store: Pick<Store, "countWrites" | "readVersion">,
  { monotonic }: Pick<Clock, "monotonic">,
): Changes {
  let epoch = 0;
  let version = -1;
  let writes = -1;
  let askedAt = -Infinity;

  return {
    read: async () => {
      const now = monotonic();
      const written = store.countWrites();
      if (now - askedAt < trusted_ms && writes === written) return epoch;
      const current = await store.readVersion();
      writes = written;
      askedAt = now;
      if (current !== version) epoch += 1;
      version = current;
      return epoch;
    },
  };
}
