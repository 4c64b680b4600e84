import { expect, test } from "vitest";
import { gatherRows, isMet, type Finding, type Row } from "./finding.ts";
import { mergeResults } from "./results-file.ts";

/** What the bench writes down. */

const run = {
  this: "aaaaaaa",
  before: "bbbbbbb",
  rounds: "3",
  machine: "one",
  versions: "Node",
  load: "0 to 1",
  when: "today",
};
const order = ["first", "second"];
const row: Row = { what: "cost", unit: "µs", value: 12, range: [10, 14], target: { most: 15 } };

function takeRounds(...values: readonly number[]): readonly (readonly Finding[])[] {
  return values.map((value) => [{ what: "cost", unit: "µs", value }]);
}

test("a row is the middle one of the rounds, and of the ratios of each round", () => {
  const [found] = gatherRows(takeRounds(10, 40, 30), takeRounds(5, 10, 30));
  expect(found).toEqual({
    what: "cost",
    unit: "µs",
    value: 30,
    range: [10, 40],
    before: 10,
    ofBefore: 2,
  });
});

test("of an even number of rounds the middle is halfway", () => {
  expect(gatherRows(takeRounds(1, 2, 4, 100), [])[0]?.value).toBe(3);
});

test("what may never go wrong is added up over the rounds", () => {
  const rounds = [0, 1, 0].map((value): readonly Finding[] => {
    return [{ what: "lost", unit: "writes", value, target: { most: 0 }, gather: "sum" }];
  });
  const [lost] = gatherRows(rounds, []);
  expect(lost?.value).toBe(1);
  expect(lost && isMet(lost)).toBe(false);
});

test("a target beside an earlier commit is undecided where none took part", () => {
  const target = { mostOfBefore: 1.05 };
  expect(isMet({ ...row, target })).toBeUndefined();
  expect(isMet({ ...row, target, before: 12, ofBefore: 1 })).toBe(true);
  expect(isMet({ ...row, target, before: 6, ofBefore: 2 })).toBe(false);
  // Both must hold where both were asked.
  expect(isMet({ ...row, target: { most: 15, ...target }, before: 6, ofBefore: 2 })).toBe(false);
});

test("a scenario that runs again writes its own rows anew and leaves the others", async () => {
  const other = { ...row, what: "weight | size", value: 99.5 };
  const begun = await mergeResults("", { scenario: "second", rows: [other], run }, order);
  const both = await mergeResults(begun, { scenario: "first", rows: [row, row], run }, order);
  const again = { ...row, value: 16 };
  const text = await mergeResults(both, { scenario: "first", rows: [again], run }, order);

  const cells = text
    .split("\n")
    .filter((line) => line.startsWith("| first") || line.startsWith("| second"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const [figures, runs] = [cells.slice(0, 2), cells.slice(2)];
  expect(figures.map(([, scenario, what, , value, , , , , met]) => [scenario, what, value, met]))
    // A bar would have ended its cell.
    .toEqual([
      ["first", "cost", "16", "**no**"],
      ["second", "weight / size", "99.5", "**no**"],
    ]);
  expect(runs.map(([, scenario, commit]) => [scenario, commit])).toEqual([
    ["first", "aaaaaaa"],
    ["second", "aaaaaaa"],
  ]);
});

test("what an earlier commit has not shown is told from what it has", async () => {
  const beside = { ...row, what: "beside", before: 24, ofBefore: 0.5 };
  const outcome = { scenario: "first", rows: [row, beside], run };
  const text = await mergeResults("", outcome, order);
  const cells = [...text.matchAll(/^\| first .*µs.*$/gm)].map(([line]) => {
    return line
      .split("|")
      .map((cell) => cell.trim())
      .slice(6, 8);
  });
  expect(cells).toEqual([
    ["–", "–"],
    ["24", "0.50"],
  ]);
});

test("a scenario that is no more has no rows", async () => {
  const before = await mergeResults("", { scenario: "second", rows: [row], run }, order);
  const text = await mergeResults(before, { scenario: "first", rows: [row], run }, ["first"]);
  expect(text).not.toMatch(/^\| second\b/m);
  expect(text).toMatch(/^\| first\b/m);
});
