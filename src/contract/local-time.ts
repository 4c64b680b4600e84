/** Time zones: converts between timestamps and local times, including daylight saving time. */

export type TimeZone = {
  readonly name: string;
  /** How many milliseconds local time is ahead of UTC at the given time. */
  readonly readOffset: (time: number) => number;
};

const day_ms = 24 * 60 * 60_000;

export const utc: TimeZone = { name: "UTC", readOffset: () => 0 };

/**
 * Opens a zone that `isTimeZone` accepts. The `Intl` formatter is created on first use, because
 * creating one is slow.
 */
export function openTimeZone(name: string): TimeZone {
  let format: Intl.DateTimeFormat | undefined;
  const readOffset = (time: number) => readFormat((format ??= createFormat(name)), time);
  return { name, readOffset };
}

/** Formats a time as `2026-11-22T16:14:27+01:00`. */
export function writeLocalTime(time: number, { readOffset } = utc): string {
  const offset = readOffset(time);
  const text = new Date(time + offset).toISOString().slice(0, 19);
  return offset === 0 ? `${text}Z` : text + writeOffset(offset);
}

/** Formats a time for prose: `2026-11-22 at 16:14 UTC+01:00`. */
export function sayLocalTime(time: number, zone = utc): string {
  const [date = "", clock = ""] = writeLocalTime(time, zone).split("T");
  return `${date} at ${clock.slice(0, 5)} ${nameOffset(zone.readOffset(time))}`;
}

/** Formats an offset as `UTC+01:00`. */
export function nameOffset(offset_ms: number): string {
  return offset_ms === 0 ? "UTC" : `UTC${writeOffset(offset_ms)}`;
}

/**
 * Parses a date or time, or returns null. Text without an offset is local time. If the clocks go
 * back, an ambiguous time means its first occurrence. If they go forward, a skipped time is read
 * with the offset from before the change.
 */
export function parseLocalTime(text: string, { readOffset }: TimeZone): number | null {
  const shown = parseTime(text);
  if (shown === null || /(?:Z|UTC|[+-]\d{2}:?\d{2})$/.test(text)) return shown;
  const before = readOffset(shown - day_ms);
  const after = readOffset(shown + day_ms);
  const moments = [before, after].map((offset) => ({ offset, time: shown - offset }));
  const found = moments.find(({ offset, time }) => readOffset(time) === offset);
  return found?.time ?? shown - before;
}

function readFormat(format: Intl.DateTimeFormat, time: number): number {
  const parts = format.formatToParts(time);
  const read = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const [year, month, day] = [read("year"), read("month"), read("day")];
  const shown = Date.UTC(year, month - 1, day, read("hour"), read("minute"), read("second"));
  return shown - Math.floor(time / 1000) * 1000;
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  const numeric = "numeric" as const;
  return new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
}

function writeOffset(offset_ms: number): string {
  const minutes = Math.round(Math.abs(offset_ms) / 60_000);
  const texts = [Math.floor(minutes / 60), minutes % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${offset_ms < 0 ? "-" : "+"}${texts.join(":")}`;
}

const datePart = /(\d{4})-(\d{2})-(\d{2})/;
const clockPart = /(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?/;
const zonePart = /Z|UTC|[+-]\d{2}:?\d{2}/;
const timePattern = new RegExp(
  `^${datePart.source}(?:[T ]${clockPart.source})?(?: ?(${zonePart.source}))?$`,
);

/**
 * Parses a filter's date or time to milliseconds since 1970, or returns null. Text without a zone
 * is UTC. A date means the midnight at its start, so `lteq` with a date excludes most of that day.
 */
export function parseTime(text: string): number | null {
  const match = timePattern.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "0", zone] =
    match;
  const parts = [year, month, day, hour, minute, second].map(Number);
  const [years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts;
  const time = Date.UTC(years, months - 1, days, hours, minutes, seconds);
  // Date.UTC accepts overflow (April 31 becomes May 1), so the result is compared with the input.
  const given = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  if (!new Date(time).toISOString().startsWith(given)) return null;
  return time + Math.floor(Number(`0.${fraction}`) * 1000) - readZone(zone);
}

function readZone(zone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone ?? "") ?? [];
  const offset_ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === "-" ? -offset_ms : offset_ms;
}
