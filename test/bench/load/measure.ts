import { findPercentile } from "../results/finding.ts";

/** The times of single requests and the processor time of the server, as figures. */

export type Times = {
  readonly p50_ms: number;
  readonly p99_ms: number;
};

export type Figures = Times & {
  readonly cpu_us: number;
  readonly per_second: number;
  /** How busy the server was. A low value means that it waited for a disk or for the load. */
  readonly share_percent: number;
};

export type Sample = {
  readonly times_ms: readonly number[];
  readonly cpu_us: number;
  readonly elapsed_ms: number;
};

export function summarize({ times_ms, cpu_us, elapsed_ms }: Sample): Figures {
  return {
    ...summarizeTimes(times_ms),
    cpu_us: cpu_us / times_ms.length,
    per_second: (times_ms.length * 1000) / elapsed_ms,
    share_percent: cpu_us / (elapsed_ms * 10),
  };
}

export function summarizeTimes(times_ms: readonly number[]): Times {
  return {
    p50_ms: findPercentile(times_ms, 0.5),
    p99_ms: findPercentile(times_ms, 0.99),
  };
}
