/**
 * Counts of filtered lists, kept as long as nobody wrote to the project. The generation that a
 * count belongs to lies in the database, so a write by any process ends it.
 */
export type Counts = {
  readonly find: (key: string, generation: number) => number | undefined;
  readonly keep: (key: string, generation: number, count: number) => void;
};

const keptCounts = 1000;

export function createCounts(): Counts {
  const kept = new Map<string, { readonly generation: number; readonly count: number }>();
  return {
    find: (key, generation) => {
      const known = kept.get(key);
      return known?.generation === generation ? known.count : undefined;
    },
    keep: (key, generation, count) => {
      kept.delete(key);
      kept.set(key, { generation, count });
      const [oldest] = kept.keys();
      if (kept.size > keptCounts && oldest !== undefined) kept.delete(oldest);
    },
  };
}
