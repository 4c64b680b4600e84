import type { VisitEvent } from "./visit.ts";

/** Adds, subtracts and compares numbers of visits. */

/** The number of visits of each kind. */
export type Sum = Readonly<Record<VisitEvent, number>>;

export const noVisits: Sum = { click: 0, open: 0, install: 0 };

export function addUp(sums: Iterable<Sum>): Sum {
  let { click, open, install } = noVisits;
  for (const sum of sums) {
    click += sum.click;
    open += sum.open;
    install += sum.install;
  }
  return { click, open, install };
}

export function subtract(from: Sum, sum: Sum): Sum {
  return {
    click: from.click - sum.click,
    open: from.open - sum.open,
    install: from.install - sum.install,
  };
}

export function isNone({ click, open, install }: Sum): boolean {
  return click + open + install === 0;
}

/** Compares sums, for sorting by most clicks, then most opens, then most installs, then by key. */
export function compareSums(
  [key, sum]: readonly [string, Sum],
  [otherKey, other]: readonly [string, Sum],
): number {
  return (
    other.click - sum.click ||
    other.open - sum.open ||
    other.install - sum.install ||
    (key < otherKey ? -1 : 1)
  );
}
