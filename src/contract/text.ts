/**
 * How text is compared where case does not count. `cont` and `start` fold beyond ASCII
 * (link-services.md §2); a final sigma is written differently from the same letter inside a
 * word, so it is folded by hand. Some letters have a composed form in one case only, so the case
 * changes while they are decomposed.
 */
export function fold(text: string): string {
  return text.normalize("NFD").toLowerCase().replaceAll("ς", "σ").normalize("NFC");
}

/** No engine keeps NUL in a text, and half a surrogate pair comes back as another character. */
export function isStorable(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Names a field as sentences do: `bundle_id` is "Bundle", `custom_scheme` "Custom scheme". */
export function humanize(field: string): string {
  const words = field.replace(/_id$/, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Rails calls a value blank when it is absent or only white space; the spec follows it. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "string" && !value.trim());
}

/** Control characters, and those that change the direction in which a person reads. */
export function hasControls(text: string): boolean {
  return /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text);
}
