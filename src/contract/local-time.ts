import { parseTime } from "./parse-time.ts";

/** Moments as the clocks of a time zone show them, in summer and in winter. */

const day_ms = 24 * 60 * 60_000;
const formats = new Map<string, Intl.DateTimeFormat>();

/** `2026-11-22T16:14:27+01:00`. */
export function writeLocalTime(time: number, zone: string): string {
  const offset = readOffset(time, zone);
  return new Date(time + offset).toISOString().slice(0, 19) + writeOffset(offset);
}

/**
 * The moment of a date or time, or null for what is none. One that names no zone itself is read on
 * the clocks of this one: where they show it twice it is the first time, and where they leave it
 * out, the moment in which they do.
 */
export function parseLocalTime(text: string, zone: string): number | null {
  const shown = parseTime(text);
  if (shown === null || /(?:Z|UTC|[+-]\d{2}:?\d{2})$/.test(text)) return shown;
  const before = readOffset(shown - day_ms, zone);
  const after = readOffset(shown + day_ms, zone);
  const moments = [before, after].map((offset) => ({ offset, time: shown - offset }));
  const found = moments.find(({ offset, time }) => readOffset(time, zone) === offset);
  return found?.time ?? shown - before;
}

/** How far the zone's clocks are ahead of UTC at that moment. */
function readOffset(time: number, zone: string): number {
  const parts = findFormat(zone).formatToParts(time);
  const read = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const [year, month, day] = [read("year"), read("month"), read("day")];
  const shown = Date.UTC(year, month - 1, day, read("hour"), read("minute"), read("second"));
  return shown - Math.floor(time / 1000) * 1000;
}

/** To make one takes longer than to use it. */
function findFormat(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const numeric = "numeric" as const;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  formats.set(zone, format);
  return format;
}

function writeOffset(offset_ms: number): string {
  if (offset_ms === 0) return "Z";
  const minutes = Math.round(Math.abs(offset_ms) / 60_000);
  const texts = [Math.floor(minutes / 60), minutes % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `${offset_ms < 0 ? "-" : "+"}${texts.join(":")}`;
}
