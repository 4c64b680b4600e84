/** Keeps what was used lately, in bounded memory. */
export type RecentCache<Value> = {
  readonly find: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
};

/**
 * Two maps: when the newer one is full, it becomes the older one, and the entries of the older
 * that were not used since are dropped. That costs less than sorting the entries on each use.
 */
export function createRecentCache<Value>(limit: number): RecentCache<Value> {
  let newer = new Map<string, Value>();
  let older = newer;

  function set(key: string, value: Value): void {
    if (newer.size >= limit / 2 && !newer.has(key)) {
      older = newer;
      newer = new Map();
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
