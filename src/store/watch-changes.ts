import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import type { Store } from "./store.ts";

/** Tells a cache of rows when to read them again. */
export type Changes = {
  /** A number that is another one after anything at all was written. */
  readonly read: () => Awaitable<number>;
};

/** How long another process's change may stay unseen. */
const trusted_ms = 20;

/** This process's writes are seen at once, another's when the store's version is read again. */
export function watchChanges(
  store: Pick<Store, "countWrites" | "readVersion">,
  { monotonic }: Pick<Clock, "monotonic">,
): Changes {
  let epoch = 0;
  let version = -1;
  let writes = -1;
  let askedAt = -Infinity;

  return {
    read: () => {
      const now = monotonic();
      const written = store.countWrites();
      if (now - askedAt < trusted_ms && writes === written) return epoch;
      return andThen(store.readVersion(), (current) => {
        writes = written;
        askedAt = now;
        if (current !== version) epoch += 1;
        version = current;
        return epoch;
      });
    },
  };
}
