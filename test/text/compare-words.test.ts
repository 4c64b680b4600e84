import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareWords, type TextPart } from "../../src/text/differences.ts";

/** Marking the words that differ between two texts. */

function join(parts: readonly TextPart[]): string {
  return parts.map(({ text }) => text).join("");
}

function pickChanged(parts: readonly TextPart[]): readonly string[] {
  return parts.filter(({ isChanged }) => isChanged).map(({ text }) => text);
}

test("compareWords marks the differing words in both texts", () => {
  const { before, after } = compareWords(
    "https://example.com/spring?utm=mail",
    "https://example.org/spring?utm=mail&x=1",
  );
  expect(pickChanged(before)).toEqual(["com"]);
  expect(pickChanged(after)).toEqual(["org", "&x=1"]);
});

test("compareWords returns parts that add up to the original texts", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      const { before, after } = compareWords(one, other);
      expect([join(before), join(after)]).toEqual([one, other]);
    }),
  );
});

test("compareWords marks nothing if the texts have little in common", () => {
  const { before, after } = compareWords("a quick brown fox", "something else entirely here");
  expect([...pickChanged(before), ...pickChanged(after)]).toEqual([]);
  const long = Array.from({ length: 2000 }, (_, index) => `word${index}`).join(" ");
  const others = long.replaceAll("word", "other");
  expect(pickChanged(compareWords(long, others).after)).toEqual([]);
});
