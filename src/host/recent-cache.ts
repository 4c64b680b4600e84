/** Keeps what was used lately, in bounded memory. */
export type RecentCache<Value> = {
  readonly find: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
};

/**
 * Two maps: when the newer one is full, it becomes the older one, and the entries of the older
 * that were not used since are dropped. That costs less than sorting the entries on each use.
 */
export function createRecentCache<Value>(
  limit: number,
  /** What a value takes of the limit; each is one, unless it is told. */
  weigh: (value: Value) => number = () => 1,
): RecentCache<Value> {
  let newer = new Map<string, Value>();
  let older = newer;
  let weight = 0;

  function set(key: string, value: Value): void {
    const known = newer.get(key);
    const more = weigh(value) - (known === undefined ? 0 : weigh(known));
    if (weight + more <= limit / 2) {
      weight += more;
    } else {
      older = newer;
      newer = new Map();
      weight = weigh(value);
    }
    newer.set(key, value);
  }

  return {
    find: (key) => {
      const recent = newer.get(key);
      if (recent !== undefined || older === newer) return recent;
      const value = older.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
  };
}
