/**
 * Normalizes text for comparison without case, beyond ASCII. Greek has two small sigmas, so the
 * final one is replaced. Some letters have a composed form in one case only, so case changes while
 * the text is decomposed.
 */
export function fold(text: string): string {
  return text.normalize("NFD").toLowerCase().replaceAll("ς", "σ").normalize("NFC");
}

/** No database stores NUL in a text, and half a surrogate pair comes back as another character. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/**
 * The name of a field in sentences: `bundle_id` becomes "Bundle", `custom_scheme` "Custom scheme".
 */
export function humanize(field: string): string {
  const words = field.replace(/_id$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Whether a value is missing or only white space, as Rails defines blank. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && !value.trim());
}

/** Control characters, and characters that change the reading direction. */
export function hasControls(text: string): boolean {
  return /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text);
}
