/**
 * Counts of filtered lists, remembered until a write to the project. The generation that a
 * count belongs to lies in the database, so a write by any process ends it.
 */
export type Counts = {
  readonly find: (key: string, generation: number) => number | undefined;
  readonly remember: (key: string, generation: number, count: number) => void;
};

const mostCounts = 1000;

export function createCounts(): Counts {
  const remembered = new Map<string, { readonly generation: number; readonly count: number }>();
  return {
    find: (key, generation) => {
      const known = remembered.get(key);
      return known?.generation === generation ? known.count : undefined;
    },
    remember: (key, generation, count) => {
      remembered.delete(key);
      remembered.set(key, { generation, count });
      const [oldest] = remembered.keys();
      if (remembered.size > mostCounts && oldest !== undefined) remembered.delete(oldest);
    },
  };
}
