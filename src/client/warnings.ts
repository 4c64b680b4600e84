/** What a server warned of when it answered (RFC 7234, §5.5), kept beside the answer. */
const warnings = new WeakMap<object, readonly string[]>();

/** A header is as long as a stranger likes. */
const mostRead = 4000;
const mostWarnings = 5;
const mostCharacters = 500;

/** The texts of `299 name "text"`, several of them after commas. Anything else is no warning. */
export function noteWarnings(
  body: unknown,
  header: string | undefined,
  /** Hides the key, which a server may repeat. */
  hide: (text: string) => string,
): void {
  if (header === undefined || typeof body !== "object" || body === null) return;
  const quoted = /(?:^|,)\s*\d{3} [^\s",]+ "((?:[^"\\]|\\.)*)"/g;
  const texts = [...header.slice(0, mostRead).matchAll(quoted)]
    .map(([, text = ""]) => hide(text.replace(/\\(.)/g, "$1")).trim())
    .filter((text) => text !== "")
    .map((text) => text.slice(0, mostCharacters).toWellFormed())
    .slice(0, mostWarnings);
  if (texts.length > 0) warnings.set(body, texts);
}

/** The warnings with which this very answer came. */
export function listWarnings(body: unknown): readonly string[] {
  return typeof body === "object" && body !== null ? (warnings.get(body) ?? []) : [];
}
