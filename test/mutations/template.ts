import type { Mutation } from "./mutation.ts";

/**
 * What a page may have in it. That elements of SVG and MathML are written (without `isHtml` in
 * clean-html.ts) is not here, because nobody could see it: they stand inside <svg> or <math> alone,
 * which are refused with all that is in them.
 */
export const template: readonly Mutation[] = [
  {
    id: "G1",
    file: "src/template/html-rules.ts",
    what: "pictures over plain http allowed",
    find: "(/^https:/i.test(value) && isWebAddress(value))",
    replace: "isWebAddress(value)",
    tests: ["test/template/hostile.test.ts"],
  },
  {
    id: "G2",
    file: "src/template/html-rules.ts",
    what: "any text after data- or aria- is an attribute's name",
    find: "/^(?:aria|data)-[a-z0-9-]+$/.test(name)",
    replace: "/^(?:aria|data)-/.test(name)",
    tests: ["test/template/html-rules.test.ts"],
  },
  {
    id: "G4",
    file: "src/template/html-rules.ts",
    what: "url() with data:image anywhere in it passes",
    find: String.raw`/^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]/i`,
    replace: String.raw`/data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]/i`,
    tests: ["test/template/css-rules.test.ts"],
  },
  {
    id: "G5",
    file: "src/template/clean-html.ts",
    what: "the mark stays in attributes",
    find: `value.replaceAll(mark, "").trim()`,
    replace: "value.trim()",
    tests: ["test/template/html-rules.test.ts"],
  },
  {
    id: "G6",
    file: "src/template/html-rules.ts",
    what: "control characters in mailto: and tel: pass",
    find: String.raw`(/^(?:mailto|tel):[^\s\\]+$/i.test(value) && !hasControls(value))`,
    replace: String.raw`/^(?:mailto|tel):[^\s\\]+$/i.test(value)`,
    tests: ["test/template/html-rules.test.ts"],
  },
];
