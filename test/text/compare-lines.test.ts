import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareLines, type Change } from "../../src/text/compare-lines.ts";

/** What a person is shown of a change must be the change, and all of it. */

const lines = fc.array(fc.constantFrom("a", "b", "c", "{% if x %}", ""), { maxLength: 30 });

describe("the difference of two texts", () => {
  test("turns the one into the other, whatever they are", () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const changes = compareLines(write(before), write(after));
        expect(apply(before, changes)).toEqual(after);
      }),
    );
  });

  test("is nothing where they are the same", () => {
    fc.assert(
      fc.property(lines, (both) => {
        expect(compareLines(write(both), write(both))).toEqual([]);
      }),
    );
  });

  test("tells a changed line by its place, and leaves the others alone", () => {
    expect(compareLines("one\ntwo\nthree", "one\n2\nthree\nfour")).toEqual([
      { kind: "removed", line: 2, text: "two" },
      { kind: "added", line: 2, text: "2" },
      { kind: "added", line: 4, text: "four" },
    ]);
  });

  test("of an empty text is every line of the other", () => {
    expect(compareLines("", "one\ntwo")).toHaveLength(2);
    expect(compareLines("one\ntwo", "")).toHaveLength(2);
  });

  test("of thousands of lines is still all of it", () => {
    const before = Array.from({ length: 5000 }, (_, index) => `old ${index}`);
    const after = Array.from({ length: 5000 }, (_, index) => `new ${index}`);
    const changes = compareLines(write(before), write(after));
    expect(apply(before, changes)).toEqual(after);
  });
});

/** A last line that is empty is told by the break after it. */
function write(text: readonly string[]): string {
  return text.map((line) => `${line}\n`).join("");
}

function apply(before: readonly string[], changes: readonly Change[]): readonly string[] {
  const gone = new Set(changes.filter(({ kind }) => kind === "removed").map(({ line }) => line));
  const result = before.filter((_, index) => !gone.has(index + 1));
  for (const { kind, line, text } of changes) {
    if (kind === "added") result.splice(line - 1, 0, text);
  }
  return result;
}
