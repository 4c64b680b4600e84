import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { diffLines, type Hunk } from "../../src/text/differences.ts";

/** A diff shows every change of a text and nothing else. */

const lines = fc.array(fc.constantFrom("a", "b", "c", "{% if x %}", ""), { maxLength: 30 });

describe("diffLines", () => {
  test("returns hunks that turn the old text into the new one", () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        expect(apply(before, diffLines(write(before), write(after)))).toEqual(after);
      }),
    );
  });

  test("returns no hunks for equal texts", () => {
    fc.assert(
      fc.property(lines, (both) => {
        expect(diffLines(write(both), write(both))).toEqual([]);
      }),
    );
  });

  test("returns each change with three lines before and after it", () => {
    const before = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
    const after = before.with(9, "changed").with(29, "changed too");
    const hunks = diffLines(write(before), write(after));
    expect(hunks.map(({ old_start, new_start }) => [old_start, new_start])).toEqual([
      [7, 7],
      [27, 27],
    ]);
    expect(hunks[0]?.lines).toEqual([
      ...["line 7", "line 8", "line 9"].map((text) => ({ kind: "kept", text })),
      { kind: "removed", text: "line 10" },
      { kind: "added", text: "changed" },
      ...["line 11", "line 12", "line 13"].map((text) => ({ kind: "kept", text })),
    ]);
  });

  test("returns both texts in full, the old one first, if they have little in common", () => {
    const hunks = diffLines("a\n}\nb\nc\nd\n", "x\n}\ny\nz\nw\n");
    expect(hunks).toHaveLength(1);
    const kinds = hunks[0]?.lines.map(({ kind }) => kind);
    expect(kinds).toEqual([...Array(5).fill("removed"), ...Array(5).fill("added")]);
  });

  test("returns complete hunks for texts with thousands of lines", () => {
    const before = Array.from({ length: 5000 }, (_, index) => `old ${index}`);
    const after = Array.from({ length: 5000 }, (_, index) => `new ${index}`);
    expect(apply(before, diffLines(write(before), write(after)))).toEqual(after);
  });
});

/** A line break after an empty last line makes it a line. */
function write(text: readonly string[]): string {
  return text.map((line) => `${line}\n`).join("");
}

function apply(before: readonly string[], hunks: readonly Hunk[]): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const { old_start, lines } of hunks) {
    const old = lines.filter(({ kind }) => kind !== "added");
    const start = old.length === 0 ? old_start : old_start - 1;
    result.push(...before.slice(at, start));
    at = start + old.length;
    expect(before.slice(start, at)).toEqual(old.map(({ text }) => text));
    result.push(...lines.flatMap(({ kind, text }) => (kind === "removed" ? [] : [text])));
  }
  return [...result, ...before.slice(at)];
}
