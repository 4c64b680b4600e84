/** Spans of time in words, for a page that has no script to count them down. */

const minute_ms = 60_000;

/** Rounded down: who is told that there are four minutes has at least these. */
export function writeSpan(milliseconds: number): string {
  if (milliseconds < minute_ms) {
    return writeCount(Math.max(1, Math.floor(milliseconds / 1000)), "second");
  }
  return writeCount(Math.floor(milliseconds / minute_ms), "minute");
}

export function writeAgo(milliseconds: number): string {
  return milliseconds < 1000 ? "just now" : `${writeSpan(milliseconds)} ago`;
}

function writeCount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
