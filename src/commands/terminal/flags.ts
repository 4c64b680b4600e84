/** What a command's own flags look like once they are read. */

export type Flag = { readonly type: "string" | "boolean"; readonly multiple?: true };
export type Flags = Readonly<Record<string, Flag>>;

export type FlagValues<Known extends Flags> = {
  readonly [Name in keyof Known]?: FlagValue<Known[Name]> | undefined;
};

/** A flag that may be there more than once has all its texts. */
type FlagValue<Known extends Flag> = Known["type"] extends "boolean"
  ? boolean
  : Known extends { readonly multiple: true }
    ? readonly string[]
    : string;
