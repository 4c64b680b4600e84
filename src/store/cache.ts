import { andThen, type Awaitable } from "../contract/waiting.ts";
import type { Clock } from "../contract/clock.ts";
import type { Sql } from "../sql/sql.ts";
import type { Tables } from "./tables.ts";

/** Two caches: one of limited size, and one whose values are valid until the database changes. */

export type Cache<Value> = {
  readonly find: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
};

type CacheEntry<Value> = {
  value: Value;
  isUsed: boolean;
};

/**
 * Creates a cache of limited size that evicts with the second-chance algorithm. A read only sets a
 * flag, because moving the value to the end, as an LRU cache does, takes longer than the lookup.
 */
export function createCache<Value>(
  limit: number,
  /** Returns how much of the limit a value takes up. */
  weigh: (value: Value) => number = () => 1,
): Cache<Value> {
  const entries = new Map<string, CacheEntry<Value>>();
  // Shared by all calls, because a new iterator would have to skip all deleted entries again.
  const line = entries.entries();
  let weight = 0;

  function remove(key: string, { value }: CacheEntry<Value>): void {
    entries.delete(key);
    weight -= weigh(value);
  }

  function add(key: string, value: Value): void {
    entries.set(key, { value, isUsed: false });
    weight += weigh(value);
  }

  function passOldest(): void {
    const [key, entry] = line.next().value ?? [];
    if (key === undefined || entry === undefined) return;
    remove(key, entry);
    if (entry.isUsed) add(key, entry.value);
  }

  return {
    find: (key) => {
      const entry = entries.get(key);
      if (entry === undefined) return undefined;
      entry.isUsed = true;
      return entry.value;
    },
    set: (key, value) => {
      const known = entries.get(key);
      if (known === undefined) {
        while (weight + weigh(value) > limit && entries.size > 0) passOldest();
        return add(key, value);
      }
      // Update the entry in place. Deleting and adding it again would use more memory each time,
      // because the iterator `line` keeps the map's old tables.
      weight += weigh(value) - weigh(known.value);
      known.value = value;
      known.isUsed = true;
      while (weight > limit && entries.size > 1) passOldest();
    },
  };
}

type ChangeSource = Pick<Sql<Tables>, "countWrites" | "readVersion">;

type FreshCacheOptions<Value> = {
  readonly store: ChangeSource;
  readonly clock: Pick<Clock, "monotonic">;
  readonly most: number;
  /** `before` is the outdated value from the cache, if any. A result of undefined is not cached. */
  readonly read: (key: string, before: Value | undefined) => Awaitable<Value | undefined>;
};

/** Creates a cache whose values are valid until anything is written to the database. */
export function createFreshCache<Value>({ store, clock, most, read }: FreshCacheOptions<Value>) {
  const changes = watchChanges(store, clock);
  const values = createCache<{ readonly epoch: number; readonly value: Value }>(most);
  const reads = new Map<string, Promise<Value | undefined>>();

  /** Requests share a pending read of the same value, unless there was a write since it began. */
  function readShared(key: string, epoch: number): Awaitable<Value | undefined> {
    const place = `${epoch} ${key}`;
    const begun = reads.get(place);
    if (begun !== undefined) return begun;
    const answer = andThen(read(key, values.find(key)?.value), (value) => {
      if (value !== undefined) values.set(key, { epoch, value });
      return value;
    });
    if (!(answer instanceof Promise)) return answer;
    reads.set(place, answer);
    const end = () => void reads.delete(place);
    answer.then(end, end);
    return answer;
  }

  return (key: string): Awaitable<Value | undefined> =>
    andThen(changes.read(), (epoch) => {
      const known = values.find(key);
      return known?.epoch === epoch ? known.value : readShared(key, epoch);
    });
}

/** How long another process's write may stay undetected. */
const trusted_ms = 20;

/** Detects this process's writes at once, and other processes' writes within `trusted_ms`. */
export function watchChanges(store: ChangeSource, { monotonic }: Pick<Clock, "monotonic">) {
  let epoch = 0;
  let version = -1;
  let latest: { at: number; writes: number; epoch: Awaitable<number> } | undefined;

  function readEpoch(): Awaitable<number> {
    return andThen(store.readVersion(), (current) => {
      if (current !== version) epoch += 1;
      version = current;
      return epoch;
    });
  }

  return {
    /** Returns a number that changes with every write. */
    read: (): Awaitable<number> => {
      const [at, writes] = [monotonic(), store.countWrites()];
      if (latest !== undefined && at - latest.at < trusted_ms && writes === latest.writes) {
        return latest.epoch;
      }
      const own = { at, writes, epoch: readEpoch() };
      latest = own;
      if (!(own.epoch instanceof Promise)) return own.epoch;
      own.epoch.then(
        (seen) => (own.epoch = seen),
        () => (own.at = -Infinity),
      );
      return own.epoch;
    },
  };
}
