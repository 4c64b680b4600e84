/** Reads country codes as proxies and country files write them. */

/** Codes for unknown countries and for Tor. */
const unknownCodes: ReadonlySet<string> = new Set(["XX", "T1", "ZZ"]);

/** Returns an ISO 3166 code of two capital letters; undefined for any other string. */
export function readCountry(text: string): string | undefined {
  const code = text.trim().toUpperCase();
  return /^[A-Z]{2}$/.test(code) && !unknownCodes.has(code) ? code : undefined;
}
