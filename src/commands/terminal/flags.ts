import { UsageFault } from "../../config.ts";

/** Help texts and values of flags that several commands share. */

export const jsonHelp = "print JSON";

export const yesHelp =
  "skip the confirmation, for scripts; without it, a person must confirm in a terminal";

export const projectHelp = "the project's ID or subdomain; required only if several projects exist";

/** Returns the value if it is one of the names, and throws otherwise. */
export function readChoice<Name extends string>(
  flag: string,
  text: string,
  names: readonly Name[],
): Name {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new UsageFault(`${flag} cannot be "${text}"; choose one of ${names.join(", ")}`);
}

/** Parses a list of names such as `a, b`. */
export function readList(text: string): readonly string[] {
  return text.split(",").flatMap((name) => name.trim() || []);
}

export function readPage(text = "1"): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageFault("--page must be a whole number, 1 or more");
}

/** Returns the flags that are set. */
export function pickGiven<Flags extends object>(flags: Flags): GivenFlags<Flags> {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  // Object.fromEntries loses the type of each member.
  return Object.fromEntries(given) as GivenFlags<Flags>;
}

type GivenFlags<Flags> = { readonly [Name in keyof Flags]?: Exclude<Flags[Name], undefined> };
