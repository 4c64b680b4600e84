/**
 * Makes untrusted text safe to read. Replaces invisible characters, and characters that change the
 * reading direction, with their codes.
 */

/**
 * Control characters, format characters, and noncharacters. Of these, `replaceHidden` keeps line
 * breaks and tabs.
 */
const hiddenRanges = [
  String.raw`\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}`,
  // The empty Braille pattern.
  String.raw`\u2800`,
  // A combining joiner, and the Hangul and Khmer fillers.
  String.raw`\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5`,
  // Variation selectors. Together, they can encode a hidden message.
  String.raw`\ufe00-\ufe0f\u{e0100}-\u{e01ef}`,
];
const hidden = new RegExp(`[${hiddenRanges.join("")}]`, "gu");

/** Printable ASCII. Most strings match, and testing for it is fast. */
const plain = /^[\x20-\x7e]*$/;

const symbol = String.raw`\p{Extended_Pictographic}`;
const joiner = String.raw`(?<=[${symbol}\u{1f3fb}-\u{1f3ff}\ufe0f])\u200d(?=${symbol})`;
const colouring = String.raw`(?<=${symbol})\ufe0f|(?<=[\d#*])\ufe0f(?=\u20e3)`;
/**
 * The joiner inside an emoji, and the selector for colored symbols and keycaps. Both are allowed.
 */
const emojiJoint = new RegExp(`${joiner}|${colouring}`, "gu");

export function showHidden(text: string): string {
  return replaceHidden(text, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

export function dropHidden(text: string): string {
  return replaceHidden(text, () => "");
}

export function isHidden(character: string): boolean {
  return character.search(hidden) >= 0;
}

export function replaceHidden(text: string, replace: (character: string) => string): string {
  if (isShown(text)) return text;
  const allowed = new Set([...text.matchAll(emojiJoint)].map((match) => match.index));
  return text.replace(hidden, (character, index: number) => {
    const isAllowed = character === "\n" || character === "\t" || allowed.has(index);
    return isAllowed ? character : replace(character);
  });
}

/** Reverses `showHidden`. */
export function readShown(text: string): string {
  return text.replace(/\\u\{([0-9a-f]{1,6})\}/g, (shown, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : shown;
  });
}

function isShown(text: string): boolean {
  return plain.test(text) || text.search(hidden) < 0;
}

/** The maximum nesting of values from remote servers. The API's own responses have fewer levels. */
const mostLevels = 32;

/** Applies `showHidden` to every string and property name inside a value. */
export function showHiddenIn(value: unknown): unknown {
  // Most values contain no hidden characters, and checking a value is faster than copying it.
  return isShownIn(value, mostLevels) ? value : copyShown(value, mostLevels);
}

function isShownIn(value: unknown, levels: number): boolean {
  if (typeof value === "string") return isShown(value);
  if (typeof value !== "object" || value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.every((item) => isShownIn(item, levels - 1));
  return Object.keys(value).every(isShown) && isShownIn(Object.values(value), levels);
}

function copyShown(value: unknown, levels: number): unknown {
  if (typeof value === "string") return showHidden(value);
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return "…";
  if (Array.isArray(value)) return value.map((item) => copyShown(item, levels - 1));
  const members = Object.entries(value);
  return Object.fromEntries(
    members.map(([name, member]) => [showHidden(name), copyShown(member, levels - 1)]),
  );
}

/**
 * Quotes untrusted text for use in a sentence: on one line, shortened, without hidden characters.
 */
export function quote(text: string, most = 80): string {
  return quoteLine(showHidden(text), most);
}

/** Like `quote`, but without quotation marks. */
export function showName(name: string): string {
  return quote(name).slice(1, -1);
}

/**
 * Like `quote`, but keeps hidden characters. Used for sentences that are stored, because hidden
 * characters are replaced when a sentence is shown.
 */
export function quoteLine(text: string, most = 60): string {
  const line = text.replace(/\s+/g, " ");
  return JSON.stringify(line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line);
}
