import { isHidden, replaceHidden, showHidden } from "./show-hidden.ts";

/** Escapes text for HTML, shell commands and files. */

/** Escapes text for an HTML element or a double-quoted attribute. */
export function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = /\\u\{([0-9a-f]{1,6})\}/g;

/**
 * Escapes hidden characters in files. The original text can be restored exactly, because the
 * backslash of text that already looks like an escape is escaped too.
 */
export function escapeHidden(text: string): string {
  return showHidden(text.replace(escaped, (_, digits: string) => `\\u{5c}u{${digits}}`));
}

export function unescapeHidden(text: string): string {
  return text.replace(escaped, (match, digits: string) => {
    const code = Number.parseInt(digits, 16);
    if (code > 0x10ffff) return match;
    const character = String.fromCodePoint(code);
    return character === "\\" || isHidden(character) ? character : match;
  });
}

/** Escapes hidden characters as `\u1234`, which every JSON parser understands. */
export function escapeHiddenInJson(json: string): string {
  return replaceHidden(json, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/** Quotes text so that a shell reads it as one word. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Whether the text is certainly a path. Other text may be a database URL with a password. */
export function isPlainPath(path: string): boolean {
  return /^[\w./-]+$/.test(path);
}
