/** Counts of events over all seeds. */
export type SeedCounts = {
  readonly add: (name: string, count?: number) => void;
  readonly read: (name: string) => number;
  readonly list: (start: string) => readonly (readonly [string, number])[];
};

export function createFigures(): SeedCounts {
  const counts = new Map<string, number>();
  return {
    add: (name, count = 1) => {
      counts.set(name, (counts.get(name) ?? 0) + count);
    },
    read: (name) => counts.get(name) ?? 0,
    list: (start) =>
      [...counts]
        .filter(([name]) => name.startsWith(start))
        .map(([name, count]) => [name.slice(start.length), count] as const)
        .toSorted(([, one], [, other]) => other - one),
  };
}
