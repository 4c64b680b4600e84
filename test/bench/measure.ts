/** Times of single requests, and what the server computed for them, as figures. */

export type Figures = {
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly worst_ms: number;
  /** Processor time of the server alone, for each request. */
  readonly cpu_us: number;
  /** Only where many clients asked at once. */
  readonly per_second?: number;
};

export type Sample = {
  readonly times_ms: readonly number[];
  readonly cpu_us: number;
  /** How long all of them took, where that says something. */
  readonly elapsed_ms?: number;
};

export function summarize({ times_ms, cpu_us, elapsed_ms }: Sample): Figures {
  const sorted = times_ms.toSorted((one, other) => one - other);
  return {
    p50_ms: findPercentile(sorted, 0.5),
    p99_ms: findPercentile(sorted, 0.99),
    worst_ms: sorted.at(-1) ?? Number.NaN,
    cpu_us: cpu_us / sorted.length,
    ...(elapsed_ms !== undefined &&
      elapsed_ms > 0 && { per_second: (sorted.length * 1000) / elapsed_ms }),
  };
}

/** Several samples of the same thing as one. */
export function joinSamples(samples: readonly Sample[]): Sample {
  return {
    times_ms: samples.flatMap(({ times_ms }) => times_ms),
    cpu_us: sum(samples.map(({ cpu_us }) => cpu_us)),
    elapsed_ms: sum(samples.map(({ elapsed_ms }) => elapsed_ms ?? 0)),
  };
}

export function findMedian(values: readonly number[]): number {
  return findPercentile(
    values.toSorted((one, other) => one - other),
    0.5,
  );
}

function findPercentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
