import { expect, test } from "vitest";
import { beginOf, compose, createProvenance, endOf, type Provenance } from "./provenance.ts";

/** Tests of the provenance check: a script may only use what a model could have known. */

const now = Date.UTC(2026, 0, 15);
const nowhere = "is in no sentence, no schema and no earlier result";

function read(sentence: string): Provenance {
  const provenance = createProvenance(sentence, now);
  provenance.learn({ properties: { path: { type: "string" }, url: {}, limit: { default: 20 } } });
  return provenance;
}

test("the provenance check accepts values from the sentence, a schema or a result", () => {
  const provenance = read("Make a link for the Spring sale to https://acme.example/spring");
  const args = { path: "spring-sale", url: "https://acme.example/spring", limit: 20 };
  expect(provenance.settle(args)).toEqual(args);
  expect(() => provenance.settle({ path: "3f2a-77" })).toThrow(nowhere);
  provenance.learn({ link: { id: "3f2a-77", clicks: 7, nested: [{ at: "2026" }] } });
  const later = { path: "3f2a-77", limit: 7, url: ["2026", "nested"] };
  expect(provenance.settle(later)).toEqual(later);
});

test.each([
  ["a text", { path: "autumn" }],
  ["a part of a word", { path: "pring" }],
  ["words that stand apart in the sentence", { path: "make-spring" }],
  ["a number", { limit: 21 }],
  ["a text in a list", { path: ["spring", "autumn"] }],
  ["a member's name", { colour: "spring" }],
  ["a member's name deep in the arguments", { path: { path: { colour: "spring" } } }],
  ["a sign", { path: "†" }],
])("%s that is smuggled in is refused", (_, args) => {
  expect(() => read("Make a link for the spring sale").settle(args)).toThrow(nowhere);
});

test("the provenance check accepts numbers that the sentence has as words", () => {
  const provenance = read("Show the three links that nobody clicked");
  expect(provenance.settle({ limit: 3 })).toEqual({ limit: 3 });
  expect(provenance.settle({ limit: 0 })).toEqual({ limit: 0 });
  expect(() => provenance.settle({ limit: 4 })).toThrow(nowhere);
});

test("the provenance check accepts composed text of known words and page syntax", () => {
  const provenance = read("Make the buttons #0a7d33 and call a.example/b the Winter page");
  const css = ".buttons { background: #0a7d33 }";
  expect(provenance.settle({ path: compose(css) })).toEqual({ path: css });
  const csv = "path,url\nwinter,https://a.example/b\n";
  expect(provenance.settle({ path: compose(csv) })).toEqual({ path: csv });
  expect(() => provenance.settle({ path: csv })).toThrow(nowhere);
  expect(() => provenance.settle({ path: compose(`${csv}spring,b`) })).toThrow(
    `"spring" ${nowhere}`,
  );
});

test("the provenance check accepts only days that the sentence names", () => {
  const provenance = read("Export everything from this month");
  expect(provenance.settle({ url: [beginOf("this month"), endOf("this month")] })).toEqual({
    url: ["2026-01-01", "2026-02-01"],
  });
  expect(() => provenance.settle({ url: beginOf("last year") })).toThrow(nowhere);
  expect(() => provenance.settle({ url: beginOf("everything") })).toThrow(nowhere);
});
