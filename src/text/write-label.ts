/** The name of a field or a kind, in the words that a person has for it: "iOS fallback URL". */

/** Inside a sentence. */
export function writeWords(name: string): string {
  return name
    .replaceAll("_", " ")
    .replace(/\b(id|url|css|api)\b/g, (word) => word.toUpperCase())
    .replace(/\bios\b/g, "iOS")
    .replace(/\bandroid\b/g, "Android");
}

/** By itself. */
export function writeLabel(name: string): string {
  const words = writeWords(name);
  return words.startsWith("iOS") ? words : words.charAt(0).toUpperCase() + words.slice(1);
}
