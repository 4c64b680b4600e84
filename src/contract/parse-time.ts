const datePart = /(\d{4})-(\d{2})-(\d{2})/;
const clockPart = /(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?/;
const zonePart = /Z|UTC|[+-]\d{2}:?\d{2}/;
const timePattern = new RegExp(
  `^${datePart.source}(?:[T ]${clockPart.source})?(?: ?(${zonePart.source}))?$`,
);

/**
 * Parses a date or time of a filter to milliseconds since 1970, or returns null. Without a zone the
 * time is UTC. A date means its midnight, so `lteq` a date excludes most of that day.
 */
export function parseTime(text: string): number | null {
  const match = timePattern.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "0", zone] =
    match;
  const parts = [year, month, day, hour, minute, second].map(Number);
  const [years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts;
  const time = Date.UTC(years, months - 1, days, hours, minutes, seconds);
  // Date.UTC accepts overflow: April 31 becomes May 1.
  const given = `${year}-${month}-${day}T${hour}:${minute}:${second}`;
  if (!new Date(time).toISOString().startsWith(given)) return null;
  return time + Math.floor(Number(`0.${fraction}`) * 1000) - readOffset(zone);
}

function readOffset(zone: string | undefined): number {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(zone ?? "") ?? [];
  const offset_ms = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
  return sign === "-" ? -offset_ms : offset_ms;
}
