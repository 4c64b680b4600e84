/** A value that a scenario measured in a round, and its target. */
export type Finding = {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly target?: Target;
  /** How the values of all rounds are combined: by their median, or by their sum. */
  readonly gather?: "sum";
};

export type Target = { readonly most?: number; readonly least?: number };

/** The combined value of all rounds: a row of the table. */
export type ResultRow = {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly range: readonly [least: number, most: number];
  readonly target?: Target;
};

export function gatherRows(rounds: readonly (readonly Finding[])[]): readonly ResultRow[] {
  const [first = []] = rounds;
  return first.map(({ what, unit, target, gather }) => {
    const values = rounds.flatMap((findings) =>
      findings.filter((finding) => finding.what === what).map(({ value }) => value),
    );
    return {
      what,
      unit,
      value: gather === "sum" ? values.reduce((sum, value) => sum + value, 0) : findMedian(values),
      range: [Math.min(...values), Math.max(...values)],
      ...(target !== undefined && { target }),
    };
  });
}

/** Returns undefined if there is no target. */
export function isMet({ value, target = {} }: ResultRow): boolean | undefined {
  const { most, least } = target;
  if (most === undefined && least === undefined) return undefined;
  return (most === undefined || value <= most) && (least === undefined || value >= least);
}

/** For an even number of values, the median is halfway between the two in the middle. */
export function findMedian(values: readonly number[]): number {
  const sorted = sortNumbers(values);
  const half = sorted.length / 2;
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[Math.ceil(half) - 1],
    sorted[Math.floor(half)],
  ];
  return (low + high) / 2;
}

export function findPercentile(values: readonly number[], share: number): number {
  const sorted = sortNumbers(values);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function sortNumbers(values: readonly number[]): readonly number[] {
  return values.toSorted((one, other) => one - other);
}
