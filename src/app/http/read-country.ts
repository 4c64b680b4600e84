/** Codes for an unknown country, and for Tor. */
const nowhere: ReadonlySet<string> = new Set(["XX", "T1", "ZZ"]);

/** Two capital letters of ISO 3166, or undefined for what names no country. */
export function readCountry(text: string): string | undefined {
  const code = text.trim().toUpperCase();
  return /^[A-Z]{2}$/.test(code) && !nowhere.has(code) ? code : undefined;
}
