import { findNearest } from "./nearest-name.ts";

/** Validates the names of time zones in user input. */

/**
 * Whether the text is the name of a time zone, ignoring case. Rejects plain offsets, because they
 * have no daylight saving time.
 */
export function isTimeZone(text: string): boolean {
  try {
    // Throws if the time zone is unknown.
    new Date(0).toLocaleString("en", { timeZone: text });
    return /^[a-z]/i.test(text);
  } catch {
    return false;
  }
}

/**
 * Describes an invalid time zone, for the end of a sentence. Suggests a zone by city or spelling.
 */
export function explainTimeZone(text: string): string {
  const zones = Intl.supportedValuesOf("timeZone");
  const city = `/${text.trim().replaceAll(" ", "_").toLowerCase()}`;
  const ofCity = zones.find((zone) => zone.toLowerCase().endsWith(city));
  const suggestion = ofCity ?? findNearest(text, zones);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return `must be a time zone such as Europe/Berlin${hint}`;
}
