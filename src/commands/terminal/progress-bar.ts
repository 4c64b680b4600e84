import type { Clock } from "../../contract/clock.ts";
import type { JobCounts } from "../../state/jobs.ts";

/** Shows the progress of a job: a bar on a terminal, or otherwise an occasional line. */

export type Screen = {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly write: (text: string) => unknown;
};

/** `ended` counts the finished rows, whether they succeeded or failed. */
type JobProgress = { readonly ended: number; readonly total: number };

/** Without a terminal, a line is printed after this much time or this share of the rows. */
const lineEvery_ms = 10_000;
const lineEvery = 0.1;
const [narrowest, widest] = [10, 30];

export function createProgress(
  screen: Screen,
  { ended: before }: JobProgress,
  { monotonic }: Pick<Clock, "monotonic">,
) {
  const startedAt = monotonic();
  let last = { at: startedAt, ended: before, length: 0 };
  const isDrawn = screen.isTTY === true;
  return {
    show: ({ ended, total }: JobProgress) => {
      const at = monotonic();
      const isDue = at - last.at >= lineEvery_ms || ended - last.ended >= total * lineEvery;
      if (!isDrawn && !isDue) return;
      const rate = Math.max(0, ((ended - before) * 1000) / Math.max(1, at - startedAt));
      const describeLeft = () => `${describeSeconds(Math.ceil((total - ended) / rate))} left`;
      const pace = rate === 0 ? [] : [`${rate.toFixed(1)} a second`, describeLeft()];
      const line = isDrawn
        ? drawBar(ended, total, pace, screen.columns)
        : [`${ended} of ${total}`, ...pace].join(", ");
      // Padding covers the previous line, which may be longer.
      screen.write(isDrawn ? `\r${line.padEnd(last.length)}` : `${line}\n`);
      last = { at, ended, length: line.length };
    },
    end: () => {
      if (isDrawn && last.length > 0) screen.write("\n");
    },
  };
}

export function sumUp({ done, rejected, unknown, left }: JobCounts): JobProgress {
  const ended = done + rejected + unknown;
  return { ended, total: ended + left };
}

function drawBar(ended: number, total: number, pace: readonly string[], known = 0): string {
  // Some terminals report no width, or 0.
  const columns = known || 80;
  const text = [`${ended}/${total}`, ...pace].join("  ");
  const width = Math.min(widest, Math.max(narrowest, columns - text.length - 4));
  const filled = total === 0 ? width : Math.floor((ended / total) * width);
  // Cut the line, because a line that wraps could not be redrawn.
  return `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${text}`.slice(0, columns - 1);
}

/** Formats a duration in its two largest units, such as `2 min 14 s`. */
export function describeSeconds(seconds: number): string {
  const index = units.findIndex(({ size }) => seconds >= size);
  const unit = units[index];
  if (unit === undefined) return `${Math.round(seconds)} s`;
  const smaller = units[index + 1] ?? second;
  const count = Math.floor(seconds / unit.size);
  const rest = Math.floor((seconds % unit.size) / smaller.size);
  return `${count} ${unit.name}${rest === 0 ? "" : ` ${rest} ${smaller.name}`}`;
}

const second = { name: "s", size: 1 };
const units = [
  { name: "d", size: 86_400 },
  { name: "h", size: 3600 },
  { name: "min", size: 60 },
];
