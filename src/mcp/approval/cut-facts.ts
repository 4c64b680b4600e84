import type { Fact, Line } from "./approval-request.ts";

/** Facts of which only so much is shown that somebody knows what they are about. */

/** Of each text. */
const mostOfText = 400;
/** Of lines, and of the items of a list. */
const mostLines = 20;
const mostDiffLines = 60;

export function cutFact(fact: Fact): Fact {
  switch (fact.kind) {
    case "change": {
      const [from, to] = cutAlike(fact.from, fact.to, mostOfText);
      return { ...fact, from, to };
    }
    case "lines": {
      const lines = cutLines(fact.lines);
      return { ...fact, ...tellMore(fact, fact.lines.length - lines.length), lines };
    }
    case "diff":
      return { ...fact, ...cutHunks(fact) };
    case "list": {
      const items = fact.items.slice(0, mostLines).map((item) => cut(item, 0, mostOfText));
      return { ...fact, ...tellMore(fact, fact.items.length - items.length), items };
    }
    case undefined:
      return { ...fact, text: cut(fact.text, 0, mostOfText) };
    case "address":
      // Where visitors go is read to its end.
      return fact;
  }
}

/** Of those that come as many as of those that go. */
function cutLines(lines: readonly Line[]): readonly Line[] {
  const counts = { removed: 0, added: 0 };
  return lines.flatMap(({ kind, text }) => {
    counts[kind] += 1;
    return counts[kind] > mostLines / 2 ? [] : [{ kind, text: cut(text, 0, mostOfText) }];
  });
}

/** The first lines of a diff, as many as of any text. */
function cutHunks(fact: Fact & { readonly kind: "diff" }): Pick<typeof fact, "note" | "hunks"> {
  let left = mostDiffLines;
  const hunks = fact.hunks.flatMap((hunk) => {
    const shown = hunk.lines.slice(0, Math.max(left, 0));
    left -= hunk.lines.length;
    const lines = shown.map(({ kind, text }) => ({ kind, text: cut(text, 0, mostOfText) }));
    return shown.length === 0 ? [] : [{ ...hunk, lines }];
  });
  return { ...tellMore(fact, -left), hunks };
}

function tellMore({ note }: Fact, left: number): Pick<Fact, "note"> {
  if (left <= 0) return {};
  const more = `and ${left.toLocaleString("en")} more`;
  return { note: note === undefined ? more : `${note}, ${more}` };
}

/** Of a change the part that begins to differ, the same of both. */
export function cutAlike(
  old: string | undefined,
  to: string,
  most: number,
): readonly [string | undefined, string] {
  let start = 0;
  if (old !== undefined) while (start < to.length && old[start] === to[start]) start += 1;
  const from = old === undefined ? 0 : Math.max(0, start - Math.ceil(most / 4));
  return [old === undefined ? undefined : cut(old, from, most), cut(to, from, most)];
}

function cut(text: string, from: number, most: number): string {
  if (text.length <= most) return text;
  const part = text.slice(from, from + most).toWellFormed();
  return `${from > 0 ? "…" : ""}${part}${from + most < text.length ? "…" : ""}`;
}
