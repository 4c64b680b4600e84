import { describe, expect, test } from "vitest";
import { cleanHtml, mark } from "../../src/template/clean-html.ts";
import { lookOver } from "./look-over.ts";

/** Ordinary attributes and addresses are accepted, and odd ones are refused. */

const buttons = "{% store_buttons %}";

async function findFaults(html: string): Promise<readonly string[]> {
  const problems = await lookOver({ body: html + buttons, css: "" });
  return problems.map(({ message }) => message);
}

const everyday = [
  '<p data-x="1" data-two-words aria-label="a" data-2="b">a</p>',
  '<a href="tel:+43-1-234;ext=5">a</a>',
  '<a href="mailto:a@shop.example?subject=b%20c">a</a>',
];

test.each(everyday)("the HTML %s is accepted", async (html) => {
  expect(await findFaults(html)).toEqual([]);
});

test.each([
  '<p data-"x="1">a</p>',
  "<p data-x'y>a</p>",
  "<p data-<b>a</p>",
  "<p data-a=b data-é>a</p>",
  '<p aria-"label="a">a</p>',
  "<p aria-a`b>a</p>",
])("the HTML %s is refused because of an attribute's name", async (html) => {
  expect(await findFaults(html)).toEqual(["This attribute is not allowed on <p>."]);
});

test("an attribute with the name data- is refused", async () => {
  expect(await findFaults("<p data->a</p>")).toEqual([
    "The attribute data- is not allowed on <p>.",
  ]);
});

describe("a tel or mailto URL", () => {
  test.each([0x01, 0x1b, 0x7f, 0x80, 0x9f])(
    "is refused if it contains the control character %i",
    async (code) => {
      const control = String.fromCharCode(code);
      for (const address of [`tel:1${control}2`, `mailto:a${control}@shop.example`]) {
        expect(await findFaults(`<a href="${address}">a</a>`)).toEqual([
          "href must be an https, http, mailto or tel address, or a #fragment.",
        ]);
      }
    },
  );
});

test("an image with an http URL is refused", async () => {
  expect(await findFaults('<img alt="" src="https://shop.example/a.png">')).toEqual([]);
  expect(await findFaults('<img alt="" src="http://shop.example/a.png">')).toEqual([
    "src must be an https address or a data: address of an image.",
  ]);
});

test("{% store_buttons %} in an attribute inserts nothing", () => {
  const { html, hasInserted } = cleanHtml(
    `<p title="a${mark}b" data-x="${mark}">c</p><a href="${mark}#d${mark}">e</a>`,
    "[buttons]",
  );
  expect(html).toBe('<p title="ab" data-x="">c</p><a href="#d">e</a>');
  expect(hasInserted).toBe(false);
});
