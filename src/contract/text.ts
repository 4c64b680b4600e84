/** Normalizes, checks and formats the text of fields. */

/**
 * Normalizes text for case-insensitive comparison in any alphabet. The final Greek sigma becomes a
 * normal sigma. Some letters are precomposed in only one case, so text is decomposed first.
 */
export function fold(text: string): string {
  return text.normalize("NFD").toLowerCase().replaceAll("ς", "σ").normalize("NFC");
}

/** Databases cannot reliably store NUL, and would change an unpaired surrogate. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Formats a field's name for sentences: `custom_scheme` becomes "Custom scheme". */
export function humanize(field: string): string {
  const words = field.replace(/_id$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Whether a value is missing or only whitespace, as Rails defines blank. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && !value.trim());
}

/** Whether text contains control characters, or characters that change the reading direction. */
export function hasControls(text: string): boolean {
  return /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text);
}
