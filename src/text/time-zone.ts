import { findNearest } from "./nearest-name.ts";

/** Checks the name of a time zone, as people write it. */

/** Case does not matter. Plain offsets are rejected, because they have no daylight saving time. */
export function isTimeZone(text: string): boolean {
  try {
    // An unknown zone throws.
    new Date(0).toLocaleString("en", { timeZone: text });
    return /^[a-z]/i.test(text);
  } catch {
    return false;
  }
}

/**
 * Explains a wrong zone, as the end of a sentence. A suggestion is found by its city or spelling.
 */
export function explainTimeZone(text: string): string {
  const zones = Intl.supportedValuesOf("timeZone");
  const city = `/${text.trim().replaceAll(" ", "_").toLowerCase()}`;
  const ofCity = zones.find((zone) => zone.toLowerCase().endsWith(city));
  const suggestion = ofCity ?? findNearest(text, zones);
  const hint = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
  return `must be a time zone such as Europe/Berlin${hint}`;
}
