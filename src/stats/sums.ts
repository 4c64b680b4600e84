import type { VisitEvent } from "./visit.ts";

/** So many clicks, opens and installs. */
export type Sum = Record<VisitEvent, number>;

export function createSum(): Sum {
  return { click: 0, open: 0, install: 0 };
}

/** By what they are told apart. */
export type Sums = {
  readonly total: Sum;
  readonly byKey: Map<string, Sum>;
};

export function createSums(): Sums {
  return { total: createSum(), byKey: new Map() };
}

export function addSum(to: Sum, { click, open, install }: Sum): void {
  to.click += click;
  to.open += open;
  to.install += install;
}

export function subtractSum(from: Sum, { click, open, install }: Sum): void {
  from.click -= click;
  from.open -= open;
  from.install -= install;
}

export function addTo({ byKey }: Sums, key: string, what: VisitEvent, count: number): void {
  const known = byKey.get(key);
  const sum = known ?? createSum();
  if (known === undefined) byKey.set(key, sum);
  sum[what] += count;
}
