/** Templates that ask for all time and all memory there is, by every way that was thought of. */

export type Bomb = { readonly name: string; readonly body?: string; readonly css?: string };

const body_bytes = 65_536;
const css_bytes = 32_768;
const buttons = "{% store_buttons %}";

/** So often that it fills the whole size that a body may have. */
function fill(unit: string, before = "", after = ""): string {
  const room = body_bytes - before.length - after.length - buttons.length;
  return before + unit.repeat(Math.floor(room / Buffer.byteLength(unit))) + after + buttons;
}

/** As `fill`, with a number that is another each time. */
function count(unit: (turn: number) => string): string {
  let text = "";
  for (let turn = 0; text.length + unit(turn).length < body_bytes - buttons.length; turn += 1) {
    text += unit(turn);
  }
  return text + buttons;
}

function fillCss(unit: string, before = "", after = ""): string {
  const room = css_bytes - before.length - after.length;
  return before + unit.repeat(Math.floor(room / unit.length)) + after;
}

function many(unit: string, times: number, before: string): string {
  return before + unit.repeat(times) + buttons;
}

function nest(times: number, inner: string, range = "(1..1000)"): string {
  const open = Array.from({ length: times }, (_, turn) => `{% for i${turn} in ${range} %}`);
  return open.join("") + inner + "{% endfor %}".repeat(times) + buttons;
}

/** As many conditions as there is room for, of as many parts as one may have. */
function fillTests(part: string, before = ""): string {
  return fill(test(part), before);
}

function test(part: string): string {
  return `{% if ${part.repeat(Math.floor(950 / part.length))}false %}{% endif %}`;
}

/** On one link alone, which is not a sample's. */
function onSmall(inner: string): string {
  return `{% if link.path == "small" %}${inner}{% endif %}${buttons}`;
}

function fillHost(letter: (turn: number) => number): string {
  const letters = Array.from({ length: 20_000 }, (_, turn) => String.fromCodePoint(letter(turn)));
  return `<a href="https://${letters.join("")}.example/">x</a>${buttons}`;
}

const lists =
  '{% assign a = link.social_description | split: "" %}' +
  '{% assign b = link.social_description | split: "" | slice: 0, 50 %}';
const texts =
  "{% assign long = link.social_description | slice: 0, 8000 %}" +
  "{% assign same = link.social_description | slice: 0, 8000 %}" +
  '{% assign part = link.social_description | slice: 0, 1000 | append: "!" | append: long %}' +
  "{% assign part = part | slice: 0, 4000 %}";
const caseOf = "{% case a %}";
const ended = "{% endcase %}";
const b = "{% assign b = 1 %}{% case 2 %}";

const huge = "(9007199254740992..9007199254740994)";

export const bombs: readonly Bomb[] = [
  { name: "loops in loops", body: nest(4, "{{ link.name }}") },
  { name: "loops around nothing", body: nest(6, "") },
  { name: "a long loop of much text", body: nest(1, "x".repeat(60_000)) },
  {
    name: "a long loop of long tests",
    body: nest(1, `{% if ${"1 and ".repeat(150)}1 %}{% endif %}`),
  },
  { name: "a range without an end", body: `{% for i in ${huge} %}{% endfor %}${buttons}` },
  { name: "a range without an end, put out", body: `{{ ${huge} }}${buttons}` },
  { name: "a range without an end, in an index", body: `{{ link[${huge}] }}${buttons}` },
  {
    name: "a range without an end, as an argument",
    body: `{{ link.name | append: ${huge} }}${buttons}`,
  },
  { name: "a range without an end, by dots", body: "{% assign a = 1 %}{{ (a...b) }}" + buttons },
  { name: "a range to infinity", body: `{% for i in (1..1e308) %}x{% endfor %}${buttons}` },
  {
    name: "a range of variables",
    body: `{% assign n = 99999999999 %}{% for i in (1..n) %}{% endfor %}${buttons}`,
  },
  {
    name: "a text that doubles",
    body: fill("{% assign a = a | append: a %}", '{% assign a = "xxxxxxx " %}', "{{ a }}"),
  },
  {
    name: "a text that doubles by replacing",
    body: fill(
      '{% assign a = a | replace: "x", "x x x x x " %}',
      '{% assign a = "x" %}',
      "{{ a }}",
    ),
  },
  {
    name: "a list that is joined again and again",
    body: fill(
      '{% assign a = a | split: "" | join: a %}',
      '{% assign a = "xxx xxx xxx xxx " %}',
      "{{ a }}",
    ),
  },
  {
    name: "captures that double",
    body: fill("{% capture a %}{{ a }}{{ a }}{% endcapture %}", "", "{{ a }}"),
  },
  { name: "outputs without number", body: fill("{{a}}") },
  { name: "outputs of long texts", body: fill("{{ link.address }}") },
  { name: "filters in a row", body: fill("|upcase", "{{ link.name ", "}}") },
  { name: "one condition as long as can be", body: fill("1 and ", "{% if ", "1 %}{% endif %}") },
  { name: "blocks in each other", body: fill("{% if true %}") },
  { name: "loops in each other that never close", body: fill("{% for i in (1..2) %}") },
  { name: "elsif without number", body: fill("{% elsif true %}", "{% if false %}", "{% endif %}") },
  { name: "when without number", body: fill("{% when 1 %}", "{% case 2 %}", "{% endcase %}") },
  { name: "brackets in brackets", body: fill("a[", "{{ ", "}}") },
  { name: "dots without number", body: fill(".a", "{{ a", " }}") },
  { name: "tags that never close", body: fill("{%") },
  { name: "outputs that never close", body: fill("{{") },
  { name: "faults without number", body: fill("{% x %}") },
  { name: "outputs of nothing without number", body: fill("{{}}") },
  { name: "quotes and escapes", body: fill("\\", '{{ "', '" }}') },
  { name: "raw without an end", body: fill("{% raw %}") },
  { name: "comments in each other", body: fill("{% comment %}") },
  { name: "include of itself", body: fill('{% include "x" %}') },
  { name: "elements in each other", body: fill("<div>") },
  { name: "formatting in formatting", body: fill("<b>") },
  { name: "formatting that is opened again", body: count((turn) => `<p><b id=${turn}></p>`) },
  {
    name: "formatting that is opened again by links",
    body: count((turn) => `<a><b id=${turn}><p>x`),
  },
  { name: "ends that end nothing", body: fill("</p>") },
  { name: "tables in text", body: fill("<table>x") },
  { name: "tables in tables", body: fill("<table><tr><td>") },
  { name: "list items that are closed by the next", body: fill("<li>") },
  { name: "attributes without number", body: fill("a ", "<p ", ">") },
  { name: "attributes, each another", body: `<p ${count((turn) => `a${turn.toString(36)} `)}>` },
  { name: "elements in loops", body: nest(1, "<b><p>", "(1..1000)") },
  { name: "formatting in loops", body: nest(1, "<p><b id={{ forloop.index }}></p>") },
  { name: "character references", body: fill("&notit;") },
  { name: "less-than signs", body: fill("<") },
  { name: "comments that never close", body: fill("<!--") },
  { name: "braces in braces", css: fillCss("{") },
  { name: "brackets in a value", css: fillCss("(", "a{b:") },
  { name: "rules in rules", css: fillCss("a{") },
  { name: "functions in functions", css: fillCss("calc(", "a{width:") },
  { name: "var in var", css: fillCss("var(--a,", "a{color:") },
  { name: "selectors in selectors", css: fillCss(":not(") },
  { name: "selectors without number", css: fillCss("a,", "", "b{color:red}") },
  { name: "a long sum", css: fillCss("1px + ", "a{width:calc(", "1px)}") },
  { name: "rules without number", css: fillCss("a{color:red}") },
  { name: "at-rules without number", css: fillCss("@a;") },
  { name: "faults of declarations", css: fillCss(":;", "a{", "}") },
  { name: "faults of names", css: fillCss("b;", "a{", "}") },
  { name: "faults of media", css: fillCss("(", "@media ") },
  { name: "texts that never close", css: fillCss('"a\n') },
  { name: "comments that never close in CSS", css: fillCss("/*") },
  { name: "addresses without an end", css: fillCss("url(", "a{background:") },
  { name: "keyframes without number", css: fillCss("0%{}", "@keyframes x{", "}") },

  // What is allowed, as much of it as is allowed.
  {
    name: "every step, on the longest texts",
    body: many('{% assign a = a | replace: "x", a %}', 480, '{% assign a = "x " %}'),
  },
  {
    name: "every step, on the longest lists",
    body: many('{% assign a = a | split: "" | join: a %}', 480, '{% assign a = "x " %}'),
  },
  {
    name: "every step in one loop",
    body:
      "{% for i in (1..120) %}{{ link.social_description }}{{ i | times: i }}" +
      `{% if i > 3 and i < 90 %}{% endif %}{% endfor %}${buttons}`,
  },
  { name: "the most elements", body: many("<b>x</b>", 1490, "") },
  {
    name: "the most elements, deep in each other",
    body: many(`${"<i>".repeat(55)}x${"</i>".repeat(55)}`, 27, ""),
  },
  {
    name: "formatting that is opened again, as often as can be",
    body: many("<p><b class=x>y</p>", 52, ""),
  },
  { name: "the longest text", body: fill("&lt;x ") },

  // What costs more than it seems: each was let through once, or could have been.
  {
    name: "a long range in a variable, compared with itself",
    body:
      `{% assign a = (1..1000) %}{% for i in a limit: 300 %}` +
      `{% if ${"a == a or ".repeat(90)}1 %}{% endif %}{% endfor %}${buttons}`,
  },
  {
    name: "a long range in a variable, where no sample comes",
    body: onSmall(
      `{% assign a = (1..1000) %}{% for i in a limit: 300 %}` +
        `{% if ${"a != a or ".repeat(90)}1 %}{% endif %}{% endfor %}`,
    ),
  },
  { name: "ranges in operands", body: fillTests("(1..1000) == (1..1000) or ") },
  { name: "ranges in operands, where no sample comes", body: onSmall(test("(1..900) == 1 or ")) },
  { name: "ranges in cases", body: fill(`{% when ${"(1..1000), ".repeat(80)}1 %}`, caseOf, ended) },
  { name: "ranges in arguments", body: fill(`{{ 1${" | plus: (1..1000)".repeat(50)} }}`) },
  { name: "ranges in properties", body: fillTests("(1..1000).size == 0 or ") },
  { name: "lists compared with lists", body: fillTests("a != b or ", lists) },
  { name: "lists in cases", body: fill(`{% when ${"b, ".repeat(300)}1 %}`, lists + caseOf, ended) },
  { name: "lists in lists", body: fillTests("a contains b or ", lists) },
  { name: "lists as names", body: fillTests("link[a] == 1 or ", lists) },
  { name: "lists as names of all", body: fillTests("[a] == 1 or ", lists) },
  { name: "lists as limits", body: fill("{% for i in b limit: a offset: a %}{% endfor %}", lists) },
  { name: "long texts in long texts", body: fillTests("long contains part or ", texts) },
  { name: "long texts beside long texts", body: fillTests("long != same or ", texts) },
  { name: "long texts, where no sample comes", body: onSmall(texts + test("long == part or ")) },
  {
    name: "long texts, looked for and replaced",
    body: many('{% assign z = long | replace: part, "y" %}', 480, texts),
  },
  { name: "a loop's methods", body: "{% for i in (1..400) %}{{ forloop.valueOf }}{% endfor %}" },
  { name: "values without number", body: fillTests("1 != 1 or ") },
  { name: "variables without number", body: fill(`{% when ${"b, ".repeat(300)}1 %}`, b, ended) },
  { name: "buttons without number", body: fill(buttons) },
  { name: "buttons in loops", body: nest(1, buttons, "(1..400)") },
  { name: "the place of the buttons, by its old name", body: fill("&#xFDD0;") },
  { name: "the place of the buttons, by its number", body: fill("&#xdc00;") },
  { name: "the place of the buttons, by its letter", body: fill("\udc00") },
  { name: "signs that get longer", body: fill("&") },
  { name: "addresses that get longer", body: many("{{ link.url }}", 450, "") },
  { name: "a host name of all letters there are", body: fillHost((turn) => 0x4e00 + turn) },
  { name: "a host name of accents", body: fillHost((turn) => 0x300 + (turn % 100)) },
  { name: "declarations that cannot be read", css: `a{${":;".repeat(7900)}}` },
  { name: "values that cannot be read", css: `a{${"top:!;".repeat(3900)}}` },
  { name: "the most rules", css: "a{color:red}".repeat(1490) },
  { name: "the most declarations", css: `a{${"top:0;".repeat(3900)}}` },
  { name: "the most selectors", css: `${"a,".repeat(7900)}b{}` },
];
