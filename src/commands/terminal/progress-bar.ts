import type { Clock } from "../../contract/clock.ts";
import type { JobCounts } from "../../state/jobs.ts";
import { describeSeconds } from "./describe-time.ts";

/** How far a job is: one line that a terminal draws again, and a line now and then elsewhere. */

export type Screen = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly write: (text: string) => unknown;
};

export type ProgressBar = {
  readonly show: (counts: JobCounts) => void;
  /** What is written from now on begins on a line of its own. */
  readonly end: () => void;
};

/** Where a line cannot be drawn again, one is written so seldom. */
const lineEvery_ms = 10_000;
const lineEvery = 0.1;
const widest = 30;
const narrowest = 10;
const usualColumns = 80;
/** A terminal that tells of fewer does not know how wide it is. */
const fewestColumns = 20;

export function createProgress(
  screen: Screen,
  begun: JobCounts,
  { monotonic }: Pick<Clock, "monotonic">,
): ProgressBar {
  const started = monotonic();
  const measure = (counts: JobCounts) => measurePace(begun, counts, monotonic() - started);
  if (screen.isTTY === true) return drawBar(screen, measure);
  return writeLines(screen, measure, measure(begun).ended, monotonic);
}

type Pace = {
  readonly ended: number;
  readonly total: number;
  /** Rows in a second; 0 as long as nothing is known. */
  readonly rate: number;
  readonly left_s: number | undefined;
};

type Measure = (counts: JobCounts) => Pace;

function measurePace(begun: JobCounts, counts: JobCounts, elapsed_ms: number): Pace {
  const { ended, total } = sumUp(counts);
  const fresh = ended - sumUp(begun).ended;
  const rate = elapsed_ms > 0 ? Math.max(0, (fresh * 1000) / elapsed_ms) : 0;
  return { ended, total, rate, left_s: rate > 0 ? Math.ceil(counts.left / rate) : undefined };
}

/** How many rows have ended, in whatever way, and how many there are. */
export function sumUp({ done, rejected, unknown, left }: JobCounts) {
  const ended = done + rejected + unknown;
  return { ended, total: ended + left };
}

function drawBar(screen: Screen, measure: Measure): ProgressBar {
  let drawn = 0;
  return {
    show: (counts) => {
      const line = writeBar(measure(counts), measureColumns(screen));
      // What stood there may have been longer.
      screen.write(`\r${line.padEnd(drawn)}`);
      drawn = line.length;
    },
    end: () => {
      if (drawn > 0) screen.write("\n");
      drawn = 0;
    },
  };
}

function measureColumns({ columns = 0 }: Screen): number {
  return columns < fewestColumns ? usualColumns : columns;
}

function writeBar(pace: Pace, columns: number): string {
  const { ended, total } = pace;
  const told = [`${ended}/${total}`, ...describePace(pace)].join("  ");
  const width = Math.min(widest, Math.max(narrowest, columns - told.length - 4));
  const filled = total === 0 ? width : Math.floor((ended / total) * width);
  // A line that wraps could not be drawn again.
  return `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${told}`.slice(0, columns - 1);
}

function writeLines(
  screen: Screen,
  measure: Measure,
  begun: number,
  monotonic: () => number,
): ProgressBar {
  let told = begun;
  let toldAt = monotonic();
  return {
    show: (counts) => {
      const pace = measure(counts);
      const isDue = monotonic() - toldAt >= lineEvery_ms;
      if (!isDue && pace.ended - told < pace.total * lineEvery) return;
      told = pace.ended;
      toldAt = monotonic();
      screen.write(`${[`${pace.ended} of ${pace.total}`, ...describePace(pace)].join(", ")}\n`);
    },
    end: () => {},
  };
}

function describePace({ rate, left_s }: Pace): readonly string[] {
  if (left_s === undefined) return [];
  return [`${rate.toFixed(1)} a second`, `${describeSeconds(left_s)} left`];
}
