/**
 * Text of strangers, made harmless to read (security-reliability.md §1, 13): what a person could
 * not see, or would see in another order than a machine reads it, is shown by its number.
 */

/** Controls but line breaks and tabs, format characters, blanks that look like nothing. */
const hiddenRanges = [
  String.raw`\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}\u2800`,
  // A joiner of combining marks, and fillers of Hangul and Khmer.
  String.raw`\u034f\u115f\u1160\u3164\uffa0\u17b4\u17b5`,
  // Variation selectors, which can carry a message of their own.
  String.raw`\ufe00-\ufe0f\u{e0100}-\u{e01ef}`,
];
const hidden = new RegExp(`[${hiddenRanges.join("")}]`, "gu");

const symbol = String.raw`\p{Extended_Pictographic}`;
const joiner = String.raw`(?<=[${symbol}\u{1f3fb}-\u{1f3ff}\ufe0f])\u200d(?=${symbol})`;
const colouring = String.raw`(?<=[${symbol}\d#*])\ufe0f`;
/** A joiner inside an emoji, and the sign after a symbol that asks for its coloured form. */
const emojiJoint = new RegExp(`${joiner}|${colouring}`, "gu");

export function showHidden(text: string): string {
  if (!hidden.test(text)) return text;
  hidden.lastIndex = 0;
  const kept = new Set([...text.matchAll(emojiJoint)].map((match) => match.index));
  return text.replace(hidden, (character, index: number) => {
    const isKept = character === "\n" || character === "\t" || kept.has(index);
    return isKept ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** As `showHidden`, for every text inside a value, the names of its members included. */
export function makeInert(value: unknown): unknown {
  if (typeof value === "string") return showHidden(value);
  if (Array.isArray(value)) return value.map(makeInert);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [showHidden(name), makeInert(member)]),
  );
}

/** A stranger's text inside one of our sentences: quoted, on one line and not endless. */
export function quote(text: string, most = 80): string {
  const line = showHidden(text).replace(/\s+/g, " ");
  return JSON.stringify(line.length > most ? `${line.slice(0, most)}…` : line);
}
