import { describe, expect, test } from "vitest";
import { findHiddenButtons } from "../../src/template/find-hidden-buttons.ts";
import { starter } from "../../src/template/starter-template.ts";

/** Templates that the API takes, but whose visitors do not see the buttons. */

const card =
  '<main class="page">\n<div id="card" class="card wide">{% store_buttons %}</div></main>';

function list(css: string, body = card): readonly string[] {
  return findHiddenButtons({ body, css }).map(
    ({ field, line, column, message }) => `${field} ${line}:${column} ${message}`,
  );
}

describe("buttons are not seen", () => {
  test.each([
    [".store-buttons { display: none }", "display: none"],
    [".store-button { VISIBILITY: Hidden !important }", "visibility: hidden"],
    ["a { opacity: 0 }", "opacity: 0"],
    ["* { opacity: 0.0 }", "opacity: 0.0"],
    [".store-button-continue { display: none }", "display: none"],
    [".page > .card.wide .store-button { transform: scale(0) }", "transform: scale(0)"],
    ["#card { position: absolute; left: -9999px }", "left: -9999px"],
    ["p, .card > .store-buttons > a { pointer-events: none }", "pointer-events: none"],
    ["@media (max-width: 40rem) { body.ios .page { display: none } }", "display: none"],
    ["html { content-visibility: hidden }", "content-visibility: hidden"],
    ["body { clip-path: inset(50%) }", "clip-path: inset(50%)"],
  ])("by the rule %s", (css, hiding) => {
    expect(list(`\n${css}`)).toEqual([
      expect.stringMatching(/^css 2:\d+ The buttons are not seen: this rule has /),
    ]);
    expect(list(css)[0]).toContain(`${hiding}.`);
  });

  test("by an element that is hidden or closed around them", () => {
    expect(list("", `<p>Hi</p>\n<div hidden>{% store_buttons %}</div>`)).toEqual([
      "body 2:1 The buttons are not seen: this <div> is hidden.",
    ]);
    expect(list("", `<details><summary>More</summary>{% store_buttons %}</details>`)).toEqual([
      "body 1:1 The buttons are not seen: this <details> is closed.",
    ]);
  });

  test("by css alone, which goes with the starter's body", () => {
    expect(list(".card { display: none }", "")).toHaveLength(1);
    expect(list(".nobody { display: none }", "")).toEqual([]);
  });
});

test.each([
  // A later rule that weighs less, or is of another element or of some screens only.
  "#card { display: none } .card { display: block }",
  ".card { display: none !important } .card { display: block }",
  ".card { display: none } .store-button { display: block }",
  ".card { display: none } @media (min-width: 40rem) { .card { display: block } }",
  ".card { display: block } .card { display: none }",
  ".card { display: none; opacity: 0 } .card { opacity: 1 }",
  "@media (max-width: 40rem) { #card { display: none } } .card { display: block }",
])("buttons that only seem to be shown again are told: %s", (css) => {
  expect(list(css)).toEqual([expect.stringContaining("this rule has display: none.")]);
});

describe("buttons are seen", () => {
  test.each([
    ".card { display: none } .card { display: block }",
    ".card { display: none } div { display: block !important }",
    "#card { display: block } .card.wide { display: none }",
    ".page .card { display: none } #card { display: flex }",
    "* { opacity: 0 } html, body, main, div, a { opacity: 1 }",
    "* { display: none } html, body, main, div, a { display: block }",
    ".store-button { display: flex; opacity: 0.5 }",
    ".other { display: none }",
    ".other .store-buttons { display: none }",
    ".page > .store-buttons { display: none }",
    ".store-button::before { display: none }",
    ".store-button:hover { opacity: 0 }",
    ".card:not(.wide) { display: none }",
    ".store-button svg { display: none }",
    "@media print { .store-buttons { display: none } }",
    "@keyframes come { from { opacity: 0 } to { opacity: 1 } }",
    ".card { opacity: 0; animation: come 1s forwards }",
    ".card { left: -10px }",
  ])("with %s", (css) => {
    expect(list(css)).toEqual([]);
  });

  test("in the starter, and in an open element beside a hidden one", () => {
    expect(findHiddenButtons(starter)).toEqual([]);
    expect(list("", `<p hidden>x</p><details open>{% store_buttons %}</details>`)).toEqual([]);
  });

  test("for all that is known of a text that the API would refuse", () => {
    expect(list(".card { display: none } }")).toEqual([]);
    expect(list(".card { display: none }", "{% if %}{% store_buttons %}")).toEqual([]);
    expect(list(".card { display: none }", "<p>No buttons</p>")).toEqual([]);
    expect(list("div { display: none }", nest(60))).toHaveLength(1);
    expect(list("div { display: none }", nest(65))).toEqual([]);
  });

  test("for what no parser reads in time: the elements that are opened again and again", () => {
    const again = Array.from({ length: 1600 }, (_, id) => `<p><b id=${id}></p>`).join("");
    expect(list("a { display: none }", `${again}{% store_buttons %}`)).toEqual([]);
  });
});

test("a selector that fits in millions of ways is judged at once", () => {
  const body = nest(60);
  const css = `section ${"div ".repeat(12)}.store-buttons { display: none }`;
  // By each of the ways it would be hours, and this test ends with its time.
  expect(list(css, body)).toEqual([]);
});

function nest(depth: number): string {
  return `${"<div>".repeat(depth)}{% store_buttons %}${"</div>".repeat(depth)}`;
}
