/**
 * The properties of a phone that distinguish it from others. Browser and app write them in the same
 * form. Missing and implausible ones are omitted.
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
  /** Without its region: `en`. */
  "language",
  "region",
  "calendar",
  /** The system's major version, and major with minor version: `26`, `26.1`. */
  "major",
  "minor",
] as const;

/** Combines marks of the same phone. If both have a mark, the first one counts. */
export function joinMarks(one: Marks, other: Marks): Marks {
  return { ...other, ...one };
}

/** Reads `en-US`, `zh-Hans-CN` or `de_DE`. Only apps report the script in the middle. */
export function readLanguage(text: string): Marks {
  const [language = "", ...rest] = text.trim().toLowerCase().split(/[-_]/);
  if (!/^[a-z]{2,3}$/.test(language)) return {};
  const region = rest.find((part) => /^([a-z]{2}|\d{3})$/.test(part));
  return { language, ...(region !== undefined && { region }) };
}

/** Reads `26.0.1` or `18_6`. Browsers omit the third number. */
export function readVersion(text: string): Marks {
  const [, major, minor = "0"] = /^(\d{1,3})(?:[._](\d{1,3}))?(?:[._]|$)/.exec(text) ?? [];
  return major === undefined ? {} : { major, minor: `${major}.${minor}` };
}
