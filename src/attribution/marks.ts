/**
 * The properties that distinguish a phone from others, such as its screen. Browser and app write
 * them in the same form. Missing and implausible values are omitted.
 */
export type Marks = {
  readonly [Name in MarkName]?: string;
};

export type MarkName = (typeof markNames)[number];

export const markNames = [
  /** The kind of phone, such as `iphone`. */
  "device",
  /** Width and height in points, the smaller first, and pixels per point: `393x852@3`. */
  "screen",
  "zone",
  /** Without the region: `en`. */
  "language",
  "region",
  "calendar",
  /** The system's major version `26`, then with its minor version: `26.1`. */
  "major",
  "minor",
] as const;

/** Combines properties of the same phone. If both have a value, the first one counts. */
export function joinMarks(one: Marks, other: Marks): Marks {
  return { ...other, ...one };
}

/** Parses `en-US`, `zh-Hans-CN` or `de_DE`. Only apps report the script in the middle. */
export function readLanguage(text: string): Marks {
  const [language = "", ...rest] = text.trim().toLowerCase().split(/[-_]/);
  if (!/^[a-z]{2,3}$/.test(language)) return {};
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/.test(part));
  return { language, ...(region !== undefined && { region }) };
}

/** Parses `26.0.1` or `18_6`. Browsers omit the third number. */
export function readVersion(text: string): Marks {
  const [, major, minor = "0"] = /^(\d{1,3})(?:[._](\d{1,3}))?(?:[._]|$)/.exec(text) ?? [];
  return major === undefined ? {} : { major, minor: `${major}.${minor}` };
}
