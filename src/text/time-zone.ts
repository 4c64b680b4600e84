import { findNearest } from "./nearest-name.ts";

/** The name of a time zone, as a person writes it. */

/** A zone's name counts in any case; an offset alone knows no summer. */
export function isTimeZone(text: string): boolean {
  try {
    // One that is not known throws.
    new Date(0).toLocaleString("en", { timeZone: text });
    return /^[a-z]/i.test(text);
  } catch {
    return false;
  }
}

/** As the end of a sentence; the zone that was meant is known by its city, or by its spelling. */
export function explainTimeZone(text: string): string {
  const zones = Intl.supportedValuesOf("timeZone");
  const city = `/${text.trim().replaceAll(" ", "_").toLowerCase()}`;
  const ofCity = zones.find((zone) => zone.toLowerCase().endsWith(city));
  const meant = ofCity ?? findNearest(text, zones);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return `must be a time zone such as Europe/Berlin${hint}`;
}
