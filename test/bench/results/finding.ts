/** One number that a scenario found in a round, and what it has to reach. */
export type Finding = {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly target?: Target;
  /** What all rounds come to: the middle one, or where none may go wrong the sum. */
  readonly gather?: "sum";
};

export type Target = {
  readonly most?: number;
  readonly least?: number;
  /** Beside the earlier commit's value in the same round. */
  readonly mostOfBefore?: number;
  readonly leastOfBefore?: number;
};

/** A finding of all rounds: a row of the table. */
export type Row = {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  readonly range: readonly [least: number, most: number];
  readonly before?: number;
  /** The middle one of the rounds' ratios, for what else runs slows both of a round alike. */
  readonly ofBefore?: number;
  readonly target?: Target;
};

/** What costs no more than the machine's own noise. */
export const noDearer = { mostOfBefore: 1.05 } as const;
export const noSlower = { leastOfBefore: 0.95 } as const;

/** The rounds of this commit, and of the earlier one where it took part. */
export function gatherRows(
  rounds: readonly (readonly Finding[])[],
  before: readonly (readonly Finding[])[],
): readonly Row[] {
  const [first = []] = rounds;
  return first.map(({ what, unit, target, gather }) => {
    const values = pickValues(rounds, what);
    const earlier = pickValues(before, what);
    const reduce = gather === "sum" ? sum : findMedian;
    const ratios = earlier.map((value, round) => (values[round] ?? Number.NaN) / value);
    return {
      what,
      unit,
      value: reduce(values),
      range: [Math.min(...values), Math.max(...values)],
      ...(earlier.length > 0 && { before: reduce(earlier), ofBefore: findMedian(ratios) }),
      ...(target !== undefined && { target }),
    };
  });
}

/** Undefined where nothing was asked, or only beside a commit that did not take part. */
export function isMet({ value, ofBefore, target = {} }: Row): boolean | undefined {
  const { most, least, mostOfBefore, leastOfBefore } = target;
  const verdicts = [
    ...(most === undefined ? [] : [value <= most]),
    ...(least === undefined ? [] : [value >= least]),
    ...(mostOfBefore === undefined || ofBefore === undefined ? [] : [ofBefore <= mostOfBefore]),
    ...(leastOfBefore === undefined || ofBefore === undefined ? [] : [ofBefore >= leastOfBefore]),
  ];
  return verdicts.length === 0 ? undefined : verdicts.every(Boolean);
}

/** Of an even number what is halfway between the two in the middle. */
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

function pickValues(rounds: readonly (readonly Finding[])[], what: string): readonly number[] {
  return rounds.flatMap((findings) =>
    findings.filter((finding) => finding.what === what).map(({ value }) => value),
  );
}

function sortNumbers(values: readonly number[]): readonly number[] {
  return values.toSorted((one, other) => one - other);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
