/** Keeps what was used lately, in bounded memory. */
export type RecentCache<Value> = {
  readonly find: (key: string) => Value | undefined;
  readonly set: (key: string, value: Value) => void;
};

type Entry<Value> = {
  value: Value;
  isUsed: boolean;
};

type Entries<Value> = Map<string, Entry<Value>>;

export function createRecentCache<Value>(
  limit: number,
  weigh?: (value: Value) => number,
): RecentCache<Value> {
  return createRecentCaches(limit, weigh).open();
}

/**
 * Caches with one limit for all of them. When they are full, a hand goes round: what was not used
 * since it came by is dropped. A use costs no more than a note of it, and as many as may be kept
 * are kept, where nobody asks for more.
 */
export function createRecentCaches<Value>(
  limit: number,
  /** What a value takes of the limit; each is one, unless it is told. */
  weigh: (value: Value) => number = () => 1,
): { readonly open: () => RecentCache<Value> } {
  /** Those that keep anything. */
  const caches = new Set<Entries<Value>>();
  // One for many rounds: a new one would go through all that was dropped before it.
  let hand = goRound(caches);
  let weight = 0;
  let size = 0;

  /** What is being set stays, whatever it weighs. */
  function makeRoom(kept: Entry<Value>): void {
    while (weight > limit && size > 1) {
      const { value: met } = hand.next();
      if (met === undefined) hand = goRound(caches);
      else if (met.entry === kept) continue;
      else if (met.entry.isUsed) met.entry.isUsed = false;
      else drop(met);
    }
  }

  function drop({ entries, key, entry }: Met<Value>): void {
    entries.delete(key);
    if (entries.size === 0) caches.delete(entries);
    size -= 1;
    weight -= weigh(entry.value);
  }

  function add(entries: Entries<Value>, key: string, value: Value): Entry<Value> {
    const entry = { value, isUsed: false };
    entries.set(key, entry);
    caches.add(entries);
    size += 1;
    weight += weigh(value);
    return entry;
  }

  function replace(entry: Entry<Value>, value: Value): Entry<Value> {
    weight += weigh(value) - weigh(entry.value);
    entry.value = value;
    return entry;
  }

  function open(): RecentCache<Value> {
    const entries: Entries<Value> = new Map();
    return {
      find: (key) => {
        const entry = entries.get(key);
        if (entry === undefined) return undefined;
        entry.isUsed = true;
        return entry.value;
      },
      set: (key, value) => {
        const known = entries.get(key);
        makeRoom(known === undefined ? add(entries, key, value) : replace(known, value));
      },
    };
  }
  return { open };
}

type Met<Value> = {
  readonly entries: Entries<Value>;
  readonly key: string;
  readonly entry: Entry<Value>;
};

/** One that takes ever more would hold the hand for ever, and the others would keep all theirs. */
function* goRound<Value>(caches: ReadonlySet<Entries<Value>>): Generator<Met<Value>, undefined> {
  for (const entries of caches) {
    let left = entries.size;
    for (const [key, entry] of entries) {
      yield { entries, key, entry };
      left -= 1;
      if (left <= 0) break;
    }
  }
}
