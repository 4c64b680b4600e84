/** Codes for unknown countries and for Tor. */
const unknownCodes: ReadonlySet<string> = new Set(["XX", "T1", "ZZ"]);

/** Returns a code of two capital letters (ISO 3166); undefined for any other text. */
export function readCountry(text: string): string | undefined {
  const code = text.trim().toUpperCase();
  return /^[A-Z]{2}$/.test(code) && !unknownCodes.has(code) ? code : undefined;
}
