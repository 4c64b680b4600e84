/** What was used lately, in bounded memory. */
export type Recent<Value> = {
  readonly find: (key: string) => Value | undefined;
  readonly keep: (key: string, value: Value) => void;
};

/**
 * Two maps: when the young one is full, it becomes the old one, and what nobody asked for since
 * goes. That costs less on each use than putting every entry in its place.
 */
export function createRecent<Value>(limit: number): Recent<Value> {
  let young = new Map<string, Value>();
  let old = young;

  function keep(key: string, value: Value): void {
    if (young.size >= limit / 2 && !young.has(key)) {
      old = young;
      young = new Map();
    }
    young.set(key, value);
  }

  return {
    find: (key) => {
      const value = young.get(key);
      if (value !== undefined || old === young) return value;
      const aged = old.get(key);
      if (aged !== undefined) keep(key, aged);
      return aged;
    },
    keep,
  };
}
