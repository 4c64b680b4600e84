import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Tables } from "./tables.ts";

type Store = Pick<Sql<Tables>, "countWrites" | "readVersion">;

type Options<Value> = {
  readonly store: Store;
  readonly clock: Pick<Clock, "monotonic">;
  /** How many values are cached. */
  readonly most: number;
  /** Reads a value; `before` is an outdated one. Undefined is not cached. */
  readonly read: (key: string, before: Value | undefined) => Awaitable<Value | undefined>;
};

type Entry<Held> = { readonly epoch: number; readonly held: Held };

/**
 * Caches what was read from the store until anything at all is written to it: whatever a value
 * depends on, it is never older than the last change that this process has seen.
 */
export function createFreshCache<Value>({ store, clock, most, read }: Options<Value>) {
  const changes = watchChanges(store, clock);
  const values = new Map<string, Entry<Value>>();
  const reads = new Map<string, Entry<Promise<Value | undefined>>>();

  /** Drops the value that was not used for longest where there are too many. */
  function keep(key: string, entry: Entry<Value>): void {
    values.delete(key);
    values.set(key, entry);
    if (values.size <= most) return;
    const [unused = ""] = values.keys();
    values.delete(unused);
  }

  /** Shares a read that has begun, unless something changed after its beginning. */
  function readShared(key: string, epoch: number): Awaitable<Value | undefined> {
    const latest = reads.get(key);
    if (latest?.epoch === epoch) return latest.held;
    const answer = andThen(read(key, values.get(key)?.held), (held) => {
      if (held !== undefined) keep(key, { epoch, held });
      return held;
    });
    if (!(answer instanceof Promise)) return answer;
    const own = { epoch, held: answer };
    reads.set(key, own);
    // A failed read is not shared with later requests.
    const end = () => void (reads.get(key) === own && reads.delete(key));
    answer.then(end, end);
    return answer;
  }

  return (key: string): Awaitable<Value | undefined> =>
    andThen(changes.read(), (epoch) => {
      const known = values.get(key);
      if (known?.epoch !== epoch) return readShared(key, epoch);
      keep(key, known);
      return known.held;
    });
}

/** How long another process's change may stay unseen. */
const trusted_ms = 20;

/** This process's writes are seen at once, another's when the store's version is read again. */
export function watchChanges(store: Store, { monotonic }: Pick<Clock, "monotonic">) {
  let epoch = 0;
  let version = -1;
  let writes = -1;
  let readAt = -Infinity;

  return {
    /** A number that is another one after any write. */
    read: (): Awaitable<number> => {
      const now = monotonic();
      const written = store.countWrites();
      if (now - readAt < trusted_ms && writes === written) return epoch;
      return andThen(store.readVersion(), (current) => {
        writes = written;
        readAt = now;
        if (current !== version) epoch += 1;
        version = current;
        return epoch;
      });
    },
  };
}
