import { expect, test } from "vitest";
import { lookOver } from "./look-over.ts";

/** Ordinary CSS is accepted, and CSS that loads or runs something is refused. */

const everyday = [
  "a{container:card / inline-size}",
  "a{container-type:inline-size;container-name:card}@container card (min-width:1px){b{top:0}}",
  "a{contain-intrinsic-size:auto 5rem;content-visibility:auto}",
  "a{scrollbar-width:none;scrollbar-color:red blue;scrollbar-gutter:stable}",
  "a{-webkit-touch-callout:none;-webkit-tap-highlight-color:transparent}",
  "a{-webkit-font-smoothing:antialiased;-moz-osx-font-smoothing:grayscale}",
  ".store-button svg{fill:currentColor;stroke:red;stroke-width:2}",
  "a{top:0;;}",
  "a{;top:0; ; left:0;;;}",
  "a{&:hover{top:0;;}}",
];

test.each(everyday)("the CSS %s is accepted", async (css) => {
  expect(await lookOver({ body: "", css })).toEqual([]);
});

const foreign = [
  "a{behavior:url(x)}",
  "a{-moz-binding:url(x)}",
  "a{;;behavior:x}",
  "a{;;background:url(https://x.example/a.png)}",
  "a{fill:url(https://x.example/a.svg)}",
  "a{scrollbarwidth:none}",
  "a{containers:x}",
  "a{top:0;;}}",
  "a{top:0;;;<}",
  "a{background:url(https://evil.example/?data:image/png;base64,AA)}",
  'a{background:url("https://evil.example/data:image/gif,x")}',
  "a{background:url(//evil.example/#data:image/webp;x)}",
  "a{background:url(data:text/html;data:image/png,x)}",
];

// The parser css-tree returns these parts of a selector as raw text.
const unread = [
  "a:foo(url(https://evil.example/)){color:red}",
  "a:has(:foo(evil(2))){color:red}",
  "a:foo(rgb(1,2,3) evil(2)){color:red}",
];

test.each(["a{top:0}/*/", "/*/", "a{top:0}/*"])(
  "CSS that ends with the unclosed comment %s is reported with the comment's position",
  async (css) => {
    expect(await lookOver({ body: "", css })).toEqual([
      {
        field: "css",
        line: 1,
        column: css.indexOf("/*") + 1,
        message: "This comment is never closed.",
      },
    ]);
  },
);

test.each([...foreign, ...unread])("the CSS %s is refused", async (css) => {
  expect(await lookOver({ body: "", css })).not.toEqual([]);
});
