import { parseArgs } from "node:util";
import { readConfig, settingFlags, UsageFault, type Config } from "../../config.ts";
import { findNearest } from "../../text/nearest-name.ts";

/** The declaration of a command, used for parsing, the help text and docs/reference/commands.md. */
export type Command<Flags extends FlagHelp = FlagHelp> = {
  /**
   * Maps each usage to its help text and its function. A word in capitals is an operand, and a word
   * in brackets is optional.
   */
  readonly usages: Readonly<Record<string, readonly [help: string, run: RunUsage<Flags>]>>;
  readonly flags: Flags;
  readonly notes?: string;
};

/**
 * Maps `--name VALUE`, `--name` or `OPERAND` to its help text. A flag with a value `NAME=VALUE` may
 * be repeated. The terminal shows the help texts without backticks.
 */
export type FlagHelp = Readonly<Record<string, string>>;

/** Resolves to an exit code, or to false if the command found a fault. */
type RunUsage<Flags> = (
  invocation: Invocation<Flags>,
  ...operands: string[]
) => Promise<boolean | number | void>;

export type Invocation<Flags> = {
  readonly config: Config;
  readonly flags: FlagValues<Flags>;
  readonly runtime: Runtime;
};

export type Runtime = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The path of the program as the user typed it. */
  readonly program: string;
  readonly input: NodeJS.ReadStream;
  readonly waitForStop: () => Promise<void>;
  readonly version: string;
  readonly keepCompiled: () => void;
};

type FlagValues<Flags> = {
  readonly [Text in keyof Flags as NameOf<Text>]?: ValueOf<Text> | undefined;
};

type NameOf<Text> = Text extends `--${infer Name} ${string}`
  ? Name
  : Text extends `--${infer Name}`
    ? Name
    : never;

type ValueOf<Text> = Text extends `${string}=${string}`
  ? readonly string[]
  : Text extends `${string} ${string}`
    ? string
    : boolean;

export async function runUsage(
  name: string,
  { usages, flags }: Command,
  words: readonly string[],
  runtime: Runtime,
): Promise<boolean | number | void> {
  const own = listOptions(flags);
  const options = { ...settingFlags, ...own };
  const { values, positionals } = parse(words, options);
  // A command's own flag with the name of a setting does not change the setting.
  const settings = Object.entries(values).filter(([flag]) => !Object.hasOwn(own, flag));
  const config = readConfig(runtime.env, Object.fromEntries(settings) as Record<string, string>);
  for (const [usage, [, run]] of Object.entries(usages)) {
    const operands = readOperands(usage, positionals);
    if (operands === undefined) continue;
    refuseOtherFlags(usage, flags, values);
    return run({ config, flags: values, runtime }, ...operands);
  }
  const known = Object.keys(usages);
  if (known.every((usage) => listPlaces(usage).length === 0)) {
    throw new UsageFault(`${name} does not take "${positionals[0]}"`);
  }
  // British English has no comma before "or".
  const list = new Intl.ListFormat("en-GB", { type: "disjunction" });
  const choices = list.format(known.map((usage) => listChoices(usage, flags)));
  throw new UsageFault(`use ${choices} (see waypost --help)`);
}

/**
 * Rejects flags that this usage does not take. A flag's help text can start with the usages that
 * take the flag, such as `list, show:`.
 */
function refuseOtherFlags(usage: string, flags: FlagHelp, given: object): void {
  const [command = "", verb = ""] = usage.match(/\w+/g) ?? [];
  for (const [text, help] of Object.entries(flags)) {
    const [flag = ""] = text.slice(2).split(" ");
    const verbs = /^([a-z]+(?:, [a-z]+)*): /.exec(help)?.[1]?.split(", ");
    if (verbs === undefined || verbs.includes(verb) || !Object.hasOwn(given, flag)) continue;
    throw new UsageFault(`--${flag} is only for ${command} ${verbs.join(" and ")}`);
  }
}

type ParseOptions = Readonly<Record<string, { type: "string" | "boolean"; multiple?: boolean }>>;

export function listOptions(flags: FlagHelp): ParseOptions {
  const texts = Object.keys(flags).filter((text) => text.startsWith("--"));
  return Object.fromEntries(
    texts.map((text) => {
      const [name = "", value] = text.slice(2).split(" ");
      const type = value === undefined ? "boolean" : "string";
      return [name, { type, multiple: text.includes("=") }] as const;
    }),
  );
}

export function readOperands(usage: string, words: readonly string[]): string[] | undefined {
  const places = listPlaces(usage);
  const required = places.filter((place) => !place.startsWith("["));
  if (words.length < required.length || words.length > places.length) return undefined;
  const isOperand = (at: number) => /^\[?[A-Z]/.test(places[at] ?? "");
  const fits = words.every((word, at) => isOperand(at) || places[at]?.match(/\w+/)?.[0] === word);
  return fits ? words.filter((_, at) => isOperand(at)) : undefined;
}

function listPlaces(usage: string): readonly string[] {
  const [words = ""] = usage.split(" --");
  return words.split(" ").slice(1);
}

/** In a usage text, lists the choices of an operand that has only a few: `with one of a, b`. */
function listChoices(usage: string, flags: FlagHelp): string {
  return usage.replace(/[A-Z]+$/, (operand) => {
    const help = flags[operand] ?? "";
    return help.startsWith("one of ") ? `with ${help}` : operand;
  });
}

function parse(words: readonly string[], options: ParseOptions) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const fault = explainFlag(error.message, options);
    throw new UsageFault(`${fault} (see waypost --help)`, { cause: error });
  }
}

/** Shortens an error message of parseArgs, because it ends with advice for programmers. */
function explainFlag(found: string, options: ParseOptions): string {
  const [sentence = ""] = found.split(/\. |\.?\n/);
  const [, name = "", value] = /^Option '(--[\w-]+)( <value>)?'/.exec(sentence) ?? [];
  const [, unknown] = /^Unknown option '([^']+)'$/.exec(sentence) ?? [];
  if (sentence.endsWith(" does not take an argument")) return `${name} takes no value`;
  if (value !== undefined || sentence.endsWith(" is ambiguous")) return `${name} needs a value`;
  if (unknown === undefined) return sentence;
  const nearest = findNearest(unknown.replace(/^-+/, ""), Object.keys(options));
  return `unknown flag ${unknown}${suggest(nearest && `--${nearest}`)}`;
}

export function suggest(nearest: string | undefined): string {
  return nearest ? `; did you mean ${nearest}?` : "";
}

export const jsonHelp = "print JSON";

export const yesHelp =
  "skip the confirmation, for scripts; without it, a person must confirm in a terminal";

export const projectHelp = "the project's ID or subdomain; required only if several projects exist";

export function readChoice<Name extends string>(
  flag: string,
  text: string,
  names: readonly Name[],
): Name {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new UsageFault(`${flag} cannot be "${text}"; choose one of ${names.join(", ")}`);
}

export function readList(text: string): readonly string[] {
  return text.split(",").flatMap((name) => name.trim() || []);
}

export function readPage(text = "1"): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageFault("--page must be a whole number, 1 or more");
}

export function pickGiven<Flags extends object>(flags: Flags): GivenFlags<Flags> {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as GivenFlags<Flags>;
}

type GivenFlags<Flags> = { readonly [Name in keyof Flags]?: Exclude<Flags[Name], undefined> };
