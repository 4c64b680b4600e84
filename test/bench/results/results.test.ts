import { expect, test } from "vitest";
import { gatherRows, isMet, type Finding, type Row } from "./finding.ts";
import { mergeResults } from "./results-file.ts";

/** What the bench writes to RESULTS.md. */

const order = ["first", "second"];
const row: Row = { what: "cost", unit: "µs", value: 12, range: [10, 14], target: { most: 15 } };

function takeRounds(...values: readonly number[]): readonly (readonly Finding[])[] {
  return values.map((value) => [{ what: "cost", unit: "µs", value }]);
}

test("a row has the median and the range of its rounds", () => {
  const [found] = gatherRows(takeRounds(10, 40, 30));
  expect(found).toEqual({ what: "cost", unit: "µs", value: 30, range: [10, 40] });
});

test("the median of an even number of rounds is the mean of the middle two", () => {
  expect(gatherRows(takeRounds(1, 2, 4, 100))[0]?.value).toBe(3);
});

test('a finding with gather "sum" is the sum of its rounds', () => {
  const rounds = [0, 1, 0].map((value): readonly Finding[] => {
    return [{ what: "lost", unit: "writes", value, target: { most: 0 }, gather: "sum" }];
  });
  const [lost] = gatherRows(rounds);
  expect(lost?.value).toBe(1);
  expect(lost && isMet(lost)).toBe(false);
});

test("a row meets its target only within both limits", () => {
  expect(isMet({ ...row, target: {} })).toBeUndefined();
  expect(isMet({ ...row, target: { most: 12, least: 12 } })).toBe(true);
  expect(isMet({ ...row, target: { most: 11, least: 0 } })).toBe(false);
  expect(isMet({ ...row, target: { least: 13 } })).toBe(false);
});

function write(text: string, scenario: string, value: number): Promise<string> {
  return mergeResults(text, { scenario, rows: [{ ...row, value }], run: `run ${value}` }, order);
}

test("a new run of a scenario replaces only its own section", async () => {
  const begun = await write("", "second", 99.5);
  const both = await write(begun, "first", 12);
  const text = await write(both, "first", 16);

  const lines = text.split("\n").filter((line) => /^## |^run |cost/.test(line));
  expect(lines.map((line) => line.replaceAll(/ +/g, " "))).toEqual([
    "## first",
    "run 16",
    "| cost | µs | 16 | 10 to 14 | ≤ 15 | **no** |",
    "## second",
    "run 99.5",
    "| cost | µs | 99.5 | 10 to 14 | ≤ 15 | **no** |",
  ]);
});

test("the section of a removed scenario is deleted", async () => {
  const before = await write("", "second", 12);
  const text = await mergeResults(before, { scenario: "first", rows: [row], run: "run" }, [
    "first",
  ]);
  expect(text).not.toContain("## second");
  expect(text).toContain("## first");
});
