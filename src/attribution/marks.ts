/**
 * What tells one phone from another, in the one form in which a browser and an app agree on it. A
 * mark that is not told, or that cannot be believed, is left out.
 */
export type Marks = {
  readonly [Name in MarkName]?: string;
};

export type MarkName = (typeof markNames)[number];

export const markNames = [
  /** What the phone is called: `iphone`. */
  "device",
  /** Width and height, the smaller first, and how many dots make a point: `393x852@3`. */
  "screen",
  "zone",
  /** Without its region: `en`. */
  "language",
  "region",
  "calendar",
  /** The system's version, as far as the first number and the second: `26`, `26.1`. */
  "major",
  "minor",
] as const;

/** Marks of one and the same phone; where both tell the same mark, the first is believed. */
export function joinMarks(one: Marks, other: Marks): Marks {
  return { ...other, ...one };
}

/** `en-US`, `zh-Hans-CN`, `de_DE`: what is written between the two is told by apps alone. */
export function readLanguage(text: string): Marks {
  const [language = "", ...rest] = text.trim().toLowerCase().split(/[-_]/);
  if (!/^[a-z]{2,3}$/.test(language)) return {};
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/.test(part));
  return { language, ...(region !== undefined && { region }) };
}

/** `26.0.1`, `18_6`: what is behind the second number browsers leave out. */
export function readVersion(text: string): Marks {
  const [, major, minor = "0"] = /^(\d{1,3})(?:[._](\d{1,3}))?(?:[._]|$)/.exec(text) ?? [];
  return major === undefined ? {} : { major, minor: `${major}.${minor}` };
}
