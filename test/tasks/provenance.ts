import { readDays } from "./calendar.ts";

/**
 * Where each word of an argument comes from. A script may only say what a model could have known
 * at that point: the sentence, the list of tools with the instructions, and the results so far.
 */

export type Provenance = {
  /** Takes note of a text or of JSON: its keys and its leaves. */
  readonly learn: (seen: unknown) => void;
  /** The arguments as they are sent; throws where one of them comes from nowhere. */
  readonly settle: (args: object) => Readonly<Record<string, unknown>>;
};

const derived = Symbol("derived");

/** What a model makes out of what it has read; the harness knows how, and checks it. */
type Derived = { readonly [derived]: "words" | "begin" | "end"; readonly text: string };

/** A text that is put together: each of its words was read, or is one of a page's own language. */
export function compose(text: string): Derived {
  return { [derived]: "words", text };
}

/** When a time begins that the sentence names ("this month"). */
export function beginOf(phrase: string): Derived {
  return { [derived]: "begin", text: phrase };
}

/** When it is over. */
export function endOf(phrase: string): Derived {
  return { [derived]: "end", text: phrase };
}

export function createProvenance(sentence: string, now: number): Provenance {
  const known = new Set([fold(sentence), ...countWords(sentence)]);
  const has = (text: string) => [...known].some((seen) => seen.includes(fold(text)));
  const learn = (seen: unknown) => {
    for (const text of listTexts(seen)) known.add(fold(text));
  };

  function settleDerived({ [derived]: kind, text }: Derived): string {
    if (kind === "words") {
      const strays = fold(text)
        .split(" ")
        .filter((word) => word !== "" && !language.has(word) && !has(word));
      if (strays.length > 0) refuse(strays.join(", "));
      return text;
    }
    // The day itself is in every client's own prompt; which days are meant the person said.
    const days = readDays(now).get(text);
    if (days === undefined || !fold(sentence).includes(fold(text))) return refuse(text);
    return days[kind];
  }

  function settleValue(value: unknown): unknown {
    if (isDerived(value)) return settleDerived(value);
    if (typeof value === "string") return value === "" || has(value) ? value : refuse(value);
    if (typeof value === "number") return has(String(value)) ? value : refuse(String(value));
    if (Array.isArray(value)) return value.map(settleValue);
    // Yes, no and nothing are in the type of every schema that takes them.
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value);
    return Object.fromEntries(
      members.map(([name, member]) => [has(name) ? name : refuse(name), settleValue(member)]),
    );
  }

  return {
    learn,
    // An object is settled as one.
    settle: (args) => settleValue(args) as Readonly<Record<string, unknown>>,
  };
}

/** What any model knows of the languages of a page and of a file, whatever it has read. */
const language = new Set(
  (
    "a b p h1 h2 div span class style img src href html body main css http https rem px em " +
    "color background font family size weight margin padding border radius serif sans"
  ).split(" "),
);

const counts = ["none|nobody|never|no", "one", "two", "three", "four", "five", "six", "seven"];

function countWords(sentence: string): readonly string[] {
  return counts.flatMap((words, count) =>
    words.split("|").some((word) => fold(sentence).includes(fold(word))) ? [fold(`${count}`)] : [],
  );
}

/** In lower case, every run of other signs a space: "spring-sale" is in "the Spring sale". */
function fold(text: string): string {
  return ` ${
    text
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu)
      ?.join(" ") ?? text
  } `;
}

function listTexts(seen: unknown): readonly string[] {
  if (typeof seen !== "object" || seen === null) return [String(seen)];
  return Object.entries(seen).flatMap(([name, member]) => [name, ...listTexts(member)]);
}

function isDerived(value: unknown): value is Derived {
  return typeof value === "object" && value !== null && derived in value;
}

function refuse(text: string): never {
  throw new Error(`"${text}" is in no sentence, no schema and no earlier result`);
}
