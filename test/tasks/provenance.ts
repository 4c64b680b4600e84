import { readDays } from "./calendar.ts";

/**
 * Checks where each word of an argument comes from. A script may only use what a model could have
 * known: the sentence, the list of tools with the instructions, and the results so far.
 */

export type Provenance = {
  /** Adds a text, or the keys and values of JSON, to the known words. */
  readonly learn: (seen: unknown) => void;
  /** Returns the arguments to send. Throws if the source of a value is unknown. */
  readonly settle: (args: object) => Readonly<Record<string, unknown>>;
};

const derived = Symbol("derived");

/** A value that a model derives from known words in a way that is checked. */
type Derived = { readonly [derived]: "words" | "begin" | "end"; readonly text: string };

/** A composed text. Each word must be known or part of the syntax of a page. */
export function compose(text: string): Derived {
  return { [derived]: "words", text };
}

/** The start of a period that the sentence names ("this month"). */
export function beginOf(phrase: string): Derived {
  return { [derived]: "begin", text: phrase };
}

/** The end of such a period. */
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
    // Today's date is in every client's prompt. The sentence says which days are meant.
    const days = readDays(now).get(text);
    if (days === undefined || !fold(sentence).includes(fold(text))) return refuse(text);
    return days[kind];
  }

  function settleValue(value: unknown): unknown {
    if (isDerived(value)) return settleDerived(value);
    if (typeof value === "string") return value === "" || has(value) ? value : refuse(value);
    if (typeof value === "number") return has(String(value)) ? value : refuse(String(value));
    if (Array.isArray(value)) return value.map(settleValue);
    // The type of a schema already allows true, false and null.
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value);
    return Object.fromEntries(
      members.map(([name, member]) => [has(name) ? name : refuse(name), settleValue(member)]),
    );
  }

  return {
    learn,
    // The members of an object are checked together.
    settle: (args) => settleValue(args) as Readonly<Record<string, unknown>>,
  };
}

/** The syntax of pages and files that every model knows. */
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

/** Lower case, with other characters as spaces: "spring-sale" matches "the Spring sale". */
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
