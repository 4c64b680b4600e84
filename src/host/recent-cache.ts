/** Keeps what was used lately, in bounded memory. */
export type RecentCache<Value> = {
  readonly find: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
};

type Entry<Value> = {
  value: Value;
  isUsed: boolean;
};

/**
 * When it is full, a hand goes round: what was not used since it came by is dropped. A use costs no
 * more than a note of it, and as many as may be kept are kept, where nobody asks for more.
 */
export function createRecentCache<Value>(
  limit: number,
  /** What a value takes of the limit; each is one, unless it is told. */
  weigh: (value: Value) => number = () => 1,
): RecentCache<Value> {
  const entries = new Map<string, Entry<Value>>();
  // One for many rounds: a new one would go through all that was dropped before it.
  let hand = entries.entries();
  let weight = 0;

  /** What is being set stays, whatever it weighs. */
  function makeRoom(kept: string): void {
    while (weight > limit && entries.size > 1) {
      const { done, value: [key, entry] = [] } = hand.next();
      if (done === true) hand = entries.entries();
      else if (key === undefined || entry === undefined || key === kept) continue;
      else if (entry.isUsed) entry.isUsed = false;
      else drop(key, entry);
    }
  }

  function drop(key: string, { value }: Entry<Value>): void {
    entries.delete(key);
    weight -= weigh(value);
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
      weight += weigh(value) - (known === undefined ? 0 : weigh(known.value));
      if (known === undefined) entries.set(key, { value, isUsed: false });
      else known.value = value;
      makeRoom(key);
    },
  };
}
