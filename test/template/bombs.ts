/** Templates that try to use up time or memory, in every known way. */

export type Bomb = { readonly name: string; readonly body?: string; readonly css?: string };

const body_bytes = 65_536;
const css_bytes = 32_768;
const buttons = "{% store_buttons %}";

function fill(unit: string, before = "", after = ""): string {
  const room = body_bytes - before.length - after.length - buttons.length;
  return before + unit.repeat(Math.floor(room / Buffer.byteLength(unit))) + after + buttons;
}

/** Like `fill`, with a different number in each unit. */
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

/** As many conditions as fit, each with as many parts as allowed. */
function fillTests(part: string, before = ""): string {
  return fill(test(part), before);
}

function test(part: string): string {
  return `{% if ${part.repeat(Math.floor(950 / part.length))}false %}{% endif %}`;
}

/** Only for a single link, which no sample resembles. */
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
  { name: "nested loops", body: nest(4, "{{ link.name }}") },
  { name: "nested empty loops", body: nest(6, "") },
  { name: "a long loop with much text", body: nest(1, "x".repeat(60_000)) },
  {
    name: "a long loop with long conditions",
    body: nest(1, `{% if ${"1 and ".repeat(150)}1 %}{% endif %}`),
  },
  { name: "an endless range", body: `{% for i in ${huge} %}{% endfor %}${buttons}` },
  { name: "an endless range as an output", body: `{{ ${huge} }}${buttons}` },
  { name: "an endless range as an index", body: `{{ link[${huge}] }}${buttons}` },
  {
    name: "an endless range as an argument",
    body: `{{ link.name | append: ${huge} }}${buttons}`,
  },
  { name: "an endless range with three dots", body: "{% assign a = 1 %}{{ (a...b) }}" + buttons },
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
    name: "a text that doubles by replacement",
    body: fill(
      '{% assign a = a | replace: "x", "x x x x x " %}',
      '{% assign a = "x" %}',
      "{{ a }}",
    ),
  },
  {
    name: "a list that is joined repeatedly",
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
  { name: "many outputs", body: fill("{{a}}") },
  { name: "outputs of long texts", body: fill("{{ link.address }}") },
  { name: "many filters in a row", body: fill("|upcase", "{{ link.name ", "}}") },
  { name: "one condition of maximum length", body: fill("1 and ", "{% if ", "1 %}{% endif %}") },
  { name: "nested blocks", body: fill("{% if true %}") },
  { name: "nested loops that never close", body: fill("{% for i in (1..2) %}") },
  { name: "many elsif", body: fill("{% elsif true %}", "{% if false %}", "{% endif %}") },
  { name: "many when", body: fill("{% when 1 %}", "{% case 2 %}", "{% endcase %}") },
  { name: "nested brackets", body: fill("a[", "{{ ", "}}") },
  { name: "many dots", body: fill(".a", "{{ a", " }}") },
  { name: "tags that never close", body: fill("{%") },
  { name: "outputs that never close", body: fill("{{") },
  { name: "many invalid tags", body: fill("{% x %}") },
  { name: "many empty outputs", body: fill("{{}}") },
  { name: "quotes and escapes", body: fill("\\", '{{ "', '" }}') },
  { name: "unclosed raw tags", body: fill("{% raw %}") },
  { name: "nested comments", body: fill("{% comment %}") },
  { name: "many includes", body: fill('{% include "x" %}') },
  { name: "nested elements", body: fill("<div>") },
  { name: "nested formatting", body: fill("<b>") },
  { name: "formatting that is reopened", body: count((turn) => `<p><b id=${turn}></p>`) },
  {
    name: "formatting that is reopened by links",
    body: count((turn) => `<a><b id=${turn}><p>x`),
  },
  { name: "end tags without start", body: fill("</p>") },
  { name: "tables in text", body: fill("<table>x") },
  { name: "nested tables", body: fill("<table><tr><td>") },
  { name: "list items closed by the next one", body: fill("<li>") },
  { name: "many attributes", body: fill("a ", "<p ", ">") },
  { name: "many different attributes", body: `<p ${count((turn) => `a${turn.toString(36)} `)}>` },
  { name: "elements in loops", body: nest(1, "<b><p>", "(1..1000)") },
  { name: "formatting in loops", body: nest(1, "<p><b id={{ forloop.index }}></p>") },
  { name: "character references", body: fill("&notit;") },
  { name: "less-than signs", body: fill("<") },
  { name: "comments that never close", body: fill("<!--") },
  { name: "nested braces", css: fillCss("{") },
  { name: "brackets in a value", css: fillCss("(", "a{b:") },
  { name: "nested rules", css: fillCss("a{") },
  { name: "nested functions", css: fillCss("calc(", "a{width:") },
  { name: "nested var()", css: fillCss("var(--a,", "a{color:") },
  { name: "nested selectors", css: fillCss(":not(") },
  { name: "many selectors", css: fillCss("a,", "", "b{color:red}") },
  { name: "a long sum", css: fillCss("1px + ", "a{width:calc(", "1px)}") },
  { name: "many rules", css: fillCss("a{color:red}") },
  { name: "many at-rules", css: fillCss("@a;") },
  { name: "many invalid declarations", css: fillCss(":;", "a{", "}") },
  { name: "many invalid names", css: fillCss("b;", "a{", "}") },
  { name: "an invalid media query", css: fillCss("(", "@media ") },
  { name: "strings that never close", css: fillCss('"a\n') },
  { name: "comments that never close in CSS", css: fillCss("/*") },
  { name: "unclosed url()", css: fillCss("url(", "a{background:") },
  { name: "many keyframes", css: fillCss("0%{}", "@keyframes x{", "}") },

  // The largest templates that are allowed.
  {
    name: "the maximum of steps on the longest texts",
    body: many('{% assign a = a | replace: "x", a %}', 480, '{% assign a = "x " %}'),
  },
  {
    name: "the maximum of steps on the longest lists",
    body: many('{% assign a = a | split: "" | join: a %}', 480, '{% assign a = "x " %}'),
  },
  {
    name: "the maximum of steps in one loop",
    body:
      "{% for i in (1..120) %}{{ link.social_description }}{{ i | times: i }}" +
      `{% if i > 3 and i < 90 %}{% endif %}{% endfor %}${buttons}`,
  },
  { name: "the maximum of elements", body: many("<b>x</b>", 1490, "") },
  {
    name: "the maximum of elements, deeply nested",
    body: many(`${"<i>".repeat(55)}x${"</i>".repeat(55)}`, 27, ""),
  },
  {
    name: "the maximum of reopened formatting",
    body: many("<p><b class=x>y</p>", 52, ""),
  },
  { name: "the longest text", body: fill("&lt;x ") },

  // Templates that cost more than they seem to; each was accepted once, or could have been.
  {
    name: "a long range in a variable, compared with itself",
    body:
      `{% assign a = (1..1000) %}{% for i in a limit: 300 %}` +
      `{% if ${"a == a or ".repeat(90)}1 %}{% endif %}{% endfor %}${buttons}`,
  },
  {
    name: "a long range in a variable on one link",
    body: onSmall(
      `{% assign a = (1..1000) %}{% for i in a limit: 300 %}` +
        `{% if ${"a != a or ".repeat(90)}1 %}{% endif %}{% endfor %}`,
    ),
  },
  { name: "ranges in operands", body: fillTests("(1..1000) == (1..1000) or ") },
  { name: "ranges in operands on one link", body: onSmall(test("(1..900) == 1 or ")) },
  { name: "ranges in cases", body: fill(`{% when ${"(1..1000), ".repeat(80)}1 %}`, caseOf, ended) },
  { name: "ranges in arguments", body: fill(`{{ 1${" | plus: (1..1000)".repeat(50)} }}`) },
  { name: "ranges in properties", body: fillTests("(1..1000).size == 0 or ") },
  { name: "lists compared with lists", body: fillTests("a != b or ", lists) },
  { name: "lists in cases", body: fill(`{% when ${"b, ".repeat(300)}1 %}`, lists + caseOf, ended) },
  { name: "lists searched in lists", body: fillTests("a contains b or ", lists) },
  { name: "lists as names", body: fillTests("link[a] == 1 or ", lists) },
  { name: "lists as variable names", body: fillTests("[a] == 1 or ", lists) },
  { name: "lists as limits", body: fill("{% for i in b limit: a offset: a %}{% endfor %}", lists) },
  { name: "long texts searched in long texts", body: fillTests("long contains part or ", texts) },
  { name: "long texts compared with long texts", body: fillTests("long != same or ", texts) },
  { name: "long texts on one link", body: onSmall(texts + test("long == part or ")) },
  {
    name: "long texts searched and replaced",
    body: many('{% assign z = long | replace: part, "y" %}', 480, texts),
  },
  { name: "a loop's methods", body: "{% for i in (1..400) %}{{ forloop.valueOf }}{% endfor %}" },
  { name: "many values", body: fillTests("1 != 1 or ") },
  { name: "many variables", body: fill(`{% when ${"b, ".repeat(300)}1 %}`, b, ended) },
  { name: "many store buttons", body: fill(buttons) },
  { name: "store buttons in loops", body: nest(1, buttons, "(1..400)") },
  { name: "the old marker of the buttons", body: fill("&#xFDD0;") },
  { name: "the marker of the buttons as a number", body: fill("&#xdc00;") },
  { name: "the marker of the buttons as a character", body: fill("\udc00") },
  { name: "characters that get longer", body: fill("&") },
  { name: "addresses that get longer", body: many("{{ link.url }}", 450, "") },
  { name: "a host name of 20,000 letters", body: fillHost((turn) => 0x4e00 + turn) },
  { name: "a host name of accents", body: fillHost((turn) => 0x300 + (turn % 100)) },
  { name: "declarations that cannot be read", css: `a{${":;".repeat(7900)}}` },
  { name: "values that cannot be read", css: `a{${"top:!;".repeat(3900)}}` },
  { name: "the maximum of rules", css: "a{color:red}".repeat(1490) },
  { name: "the maximum of declarations", css: `a{${"top:0;".repeat(3900)}}` },
  { name: "the maximum of selectors", css: `${"a,".repeat(7900)}b{}` },
];
