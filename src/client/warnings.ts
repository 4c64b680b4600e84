/**
 * What a deployment warned of when it answered (RFC 7234, §5.5), kept beside the answer: the data
 * itself is as it was sent, and whoever wants to tell of a warning finds it here.
 */

const warnings = new WeakMap<object, readonly string[]>();

/** A header is as long as a stranger likes. */
const mostRead = 4000;
const mostWarnings = 5;
const mostCharacters = 500;

export function noteWarnings(
  body: unknown,
  header: string | undefined,
  /** Hides the key, which a deployment may repeat. */
  hide: (text: string) => string,
): void {
  if (header === undefined || typeof body !== "object" || body === null) return;
  const texts = readTexts(header.slice(0, mostRead), hide);
  if (texts.length > 0) warnings.set(body, texts);
}

/** The texts of the warnings with which this very answer came; none where it came without. */
export function listWarnings(body: unknown): readonly string[] {
  return typeof body === "object" && body !== null ? (warnings.get(body) ?? []) : [];
}

/** `299 name "text"`, several of them after commas. What is written otherwise is none. */
function readTexts(header: string, hide: (text: string) => string): readonly string[] {
  const found = header.matchAll(/(?:^|,)\s*\d{3} [^\s",]+ "((?:[^"\\]|\\.)*)"/g);
  const texts = [...found].map(([, text = ""]) => hide(text.replace(/\\(.)/g, "$1")).trim());
  return texts
    .filter((text) => text !== "")
    .map((text) => text.slice(0, mostCharacters).toWellFormed())
    .slice(0, mostWarnings);
}
