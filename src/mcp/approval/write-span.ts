/** Spans of time in words, for a page that has no script to count them down. */

const minute_ms = 60_000;

/** Rounded to the nearest minute, or below one minute to the nearest second. */
export function writeSpan(milliseconds: number): string {
  if (milliseconds < minute_ms) {
    return writeCount(Math.max(1, Math.round(milliseconds / 1000)), "second");
  }
  return writeCount(Math.round(milliseconds / minute_ms), "minute");
}

export function writeAgo(milliseconds: number): string {
  return milliseconds < 1000 ? "just now" : `${writeSpan(milliseconds)} ago`;
}

function writeCount(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
