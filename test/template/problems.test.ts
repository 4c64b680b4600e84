import { describe, expect, test } from "vitest";
import { openForEach } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";

/** Saving a template reports every problem with its position, and none twice. */

const buttons = "{% store_buttons %}";
const made = "The rendered body cannot be shown: ";

let world: World;
openForEach(createWorld, (opened) => (world = opened));

type TemplateProblem = { readonly line: number; readonly column: number; readonly message: string };

/** Each problem as `line:column message`. */
async function listProblems(fields: object): Promise<readonly string[]> {
  const { status, body } = await world.call("PATCH", "/page_template", { body: fields });
  expect([201, 422]).toContain(status);
  const problems: readonly TemplateProblem[] = body.problems ?? [];
  return problems.map(({ line, column, message }) => `${line}:${column} ${message}`);
}

const checkBody = (body: string) => listProblems({ body: body + buttons });

describe("the check of Liquid tags", () => {
  test.each(["if true", "unless true", "case 1", "for i in (1..2)", "comment"])(
    "reports arguments in the end tag of %s",
    async (tag) => {
      const end = `end${tag.split(" ", 1)[0]}`;
      expect(await checkBody(`{% ${tag} %}\n{% ${end} %}`)).toEqual([]);
      const problems = [`2:1 {% ${end} %} takes no arguments.`];
      expect(await checkBody(`{% ${tag} %}\n{% ${end} x %}`)).toEqual(problems);
    },
  );

  test.each(["if true", "unless true", "case 1", "for i in (1..2)"])(
    "reports a second else in %s",
    async (tag) => {
      const name = tag.split(" ", 1)[0];
      const branch = name === "case" ? "{% when 1 %}" : "";
      const body = `{% ${tag} %}${branch}{% else %}\n{% else %}{% end${name} %}`;
      expect(await checkBody(body)).toEqual([
        "2:1 {% else %} comes after {% else %}, which must be last.",
      ]);
    },
  );

  test("reports store buttons that appear a second time", async () => {
    const again = "2:1 {% store_buttons %} can appear only once.";
    expect(await checkBody(`${buttons}\n`)).toEqual([again]);
    const inside = `{% if true %}${buttons}{% endif %}\n`;
    expect(await checkBody(inside)).toEqual([again]);
  });

  test("reports store buttons where they would be invisible", async () => {
    expect(await checkBody("<!--\n")).toEqual([
      "2:1 {% store_buttons %} would not be visible here.",
      "2:20 The last comment has no closing -->.",
    ]);
    expect(await checkBody("<{% if true %}!-- {% endif %}\n")).toEqual([
      `2:1 ${made}{% store_buttons %} would not be visible here.`,
    ]);
  });

  test("accepts anything in a Liquid comment", async () => {
    const hidden = "<script>x</script>\n{{ nothing | nothing }}{% if %}";
    expect(await checkBody(`{% comment %}${hidden}{% endcomment %}`)).toEqual([]);
    expect(await checkBody(`{% comment %}x{% endcomment %}<blink>`)).toHaveLength(1);
  });

  test.each([
    ["{% assign a = (1..3) %}", "1:15"],
    ["{% if (1..3) == 1 %}{% endif %}", "1:7"],
    ["{% case 1 %}{% when (1..3) %}{% endcase %}", "1:21"],
    ["{{ 1 | plus: (1..3) }}", "1:14"],
    ["{{ (1..3).size }}", "1:4"],
    ["{% for i in (1..3) limit: (1..2) %}{% endfor %}", "1:27"],
  ])("reports a range outside of a loop: %s", async (body, place) => {
    expect(await checkBody("{% for i in (1..3) %}{{ i }}{% endfor %}")).toEqual([]);
    const problems = [`${place} A range is only allowed in {% for … in (1..3) %}.`];
    expect(await checkBody(body)).toEqual(problems);
  });
});

describe("the template check", () => {
  test("reports every problem within one Liquid expression", async () => {
    expect(await checkBody("{{ link.x | foo | bar: (1..2) }}{{ y }}")).toEqual([
      expect.stringContaining("1:4 link.x does not exist"),
      expect.stringContaining("1:13 The filter foo does not exist"),
      expect.stringContaining("1:19 The filter bar does not exist"),
      expect.stringContaining("1:24 A range"),
      expect.stringContaining("1:36 The variable y does not exist"),
    ]);
  });

  test("reports every problem after an unsupported {% raw %}", async () => {
    const problems = await checkBody("{% raw %}\n{{ x }}\n{% endraw %}\n{% y %}");
    expect(problems.map((problem) => problem.slice(0, 30))).toEqual([
      "1:1 The tag raw does not exist",
      "2:4 The variable x does not ex",
      "3:1 The tag endraw does not ex",
      "4:1 The tag y does not exist. ",
    ]);
  });

  test("reports every problem even if loops make the page too long", async () => {
    const loop = "{% for i in (1..1000) %}{{ i }}{% endfor %}\n<script></script>\n{% x %}";
    expect(await checkBody(loop)).toEqual([
      expect.stringContaining("1:25 The template is too long. Counting each round of a loop"),
      expect.stringContaining("2:1 <script> is not allowed"),
      expect.stringContaining("3:1 The tag x does not exist"),
    ]);
  });

  test("reports every problem in CSS that contains invalid characters", async () => {
    const css = "a\\:b{}\n@import url(x);\na{behavior:0}\n<\n@font-face{}\na{";
    expect((await listProblems({ css })).map((problem) => problem.slice(0, 24))).toEqual([
      "1:1 Backslashes are only",
      "2:1 @import is not allow",
      "2:9 url() accepts only a",
      "3:3 The property behavio",
      "4:1 < is not allowed in ",
      "5:1 @font-face is not al",
      "6:2 This bracket is neve",
    ]);
  });

  test("reports nothing for valid CSS", async () => {
    expect(await listProblems({ css: "a{;top:0;;color:red}\n@media print{b{top:0}}" })).toEqual([]);
  });

  test("reports problems in the rendered HTML as well as in the source", async () => {
    const link = '{% if true %}\n<a href="{{ link.name }}">{% endif %}';
    const body = `<script>\n</script>${link}${buttons}`;
    expect(await listProblems({ body, css: "a{x:0}" })).toEqual([
      expect.stringContaining("1:1 <script> is not allowed"),
      expect.stringContaining(`3:4 ${made}href must be`),
      expect.stringContaining("1:3 The property x"),
    ]);
  });

  test.each([
    ["body", `${"<script></script>".repeat(72)}${buttons}`, "1:851 And 22 more problems."],
    ["body", `${"<script></script>".repeat(51)}${buttons}`, "1:851 And 1 more problem."],
    ["css", "a{b:0}".repeat(72), "1:303 And 22 more problems."],
    ["css", "a<".repeat(72), expect.stringMatching(/ And \d\d more problems\.$/)],
  ])(
    "reports at most 50 problems and how many more there are: %s %#",
    async (field, text, last) => {
      const problems = await listProblems({ [field]: text });
      expect([problems.length, problems.at(-1)]).toEqual([51, last]);
    },
  );
});

describe("a problem in rendered HTML", () => {
  test.each([
    ["an attribute", 'line\n\n<p class="x"\n title="" {% if true %}href="#"{% endif %}>', "4:24"],
    ["an output", '\n<img alt="" src="{{ link.name }}">', "2:13"],
    ["an element", "\n\n{% if true %}<{% endif %}blink>", "3:14"],
    ["removed white space", "<{% if true %}p {% endif -%} \n  href='#'>", "2:3"],
  ])("is reported at the position of its source: %s", async (_, body, place) => {
    const problems = await checkBody(body);
    expect(problems.map((problem) => problem.split(" ", 1)[0])).toContain(place);
  });

  test("is reported where the source exceeds the limit for nesting or for steps", async () => {
    const deep = `${"{% if true %}<i>".repeat(8)}\n${"<i>".repeat(60)}${"{% endif %}".repeat(8)}`;
    expect(await checkBody(deep)).toEqual([
      `2:166 ${made}The page nests elements more than 64 levels deep.`,
    ]);
    const long =
      '{% assign a = "x" %}\n' + '{% assign a = a | replace: "x", "x x x x x" %}'.repeat(90);
    expect(await checkBody(long)).toEqual([
      expect.stringMatching(/^2:\d{3,4} .*The template takes too many steps\. Use fewer loops\.$/),
    ]);
  });
});

describe("a template with long strings", () => {
  const long = `{% assign a = "aaa " %}${"{% assign a = a | append: a %}".repeat(11)}\n`;
  const tooMuch = expect.stringMatching(
    /^2:\d+ .* The template takes too many steps\. Use fewer loops\.$/,
  );

  test.each([
    [
      "when the strings are compared many times",
      "{% if a == 1 or a == 2 %}{% endif %}".repeat(9),
      "a == 1 or ".repeat(90),
    ],
    [
      "when the strings are searched many times",
      "{% if a contains 'b' %}{% endif %}",
      "a contains a or ",
    ],
  ])("exceeds the step limit %s", async (_, little, much) => {
    expect(await checkBody(long + little)).toEqual([]);
    expect(await checkBody(`${long}{% if ${much}true %}{% endif %}`)).toEqual([tooMuch]);
  });
});

async function save(fields: object, action = "") {
  const method = action === "" ? "PATCH" : "POST";
  const reply = await world.call(method, `/page_template${action}`, { body: fields });
  expect(reply.status).toBe(422);
  return reply.body;
}

test("a body or CSS over the size limit is reported and still checked", async () => {
  const body = `${buttons}\n<script></script>\n${"é".repeat(32_768)}\n\n<style></style>`;
  const css = `a{behavior:x}\n${" ".repeat(32_768)}b{behavior:x}`;
  const { error, problems } = await save({ body, css });
  expect(problems).toEqual([
    {
      field: "body",
      line: 3,
      column: 32_750,
      message: "Body is too long (maximum is 65536 bytes)",
    },
    { field: "css", line: 2, column: 32_755, message: "Css is too long (maximum is 32768 bytes)" },
    { field: "body", line: 2, column: 1, message: expect.stringContaining("<script>") },
    { field: "body", line: 5, column: 1, message: expect.stringContaining("<style>") },
    { field: "css", line: 1, column: 3, message: expect.stringContaining("behavior") },
    { field: "css", line: 2, column: 32_771, message: expect.stringContaining("behavior") },
  ]);
  expect(error).toContain("Body is too long (maximum is 65536 bytes), Css is too long");
});

test("a body far over the size limit is reported as too long to check", async () => {
  const css = "a{behavior:x}";
  const { problems } = await save({ body: "<script></script>".repeat(10_000), css });
  expect(problems).toEqual([
    {
      field: "body",
      line: 1,
      column: 65_537,
      message: "Body is too long to check (maximum is 65536 bytes)",
    },
    { field: "css", line: 1, column: 3, message: expect.stringContaining("behavior") },
  ]);
});

test("characters that cannot be stored are reported with all other problems", async () => {
  const { error, problems } = await save({
    body: `${buttons}\n😀\ud800<script></script>`,
    css: "a{\n\0behavior:x}",
  });
  const message = "contains characters that cannot be stored";
  expect(problems).toEqual([
    { field: "body", line: 2, column: 3, message: `Body ${message}` },
    { field: "css", line: 2, column: 1, message: `Css ${message}` },
    { field: "body", line: 2, column: 4, message: expect.stringContaining("<script>") },
    { field: "css", line: 2, column: 2, message: expect.stringContaining("behavior") },
  ]);
  expect(error).toMatch(/^Body contains .*, Css contains .*, Body line 2, column 4: /);
});

test("publishing only CSS reports problems in the CSS, not in the default body", async () => {
  const { problems } = await save({ body: "", css: "a{behavior:x}" }, "/publish");
  expect(problems).toEqual([
    { field: "css", line: 1, column: 3, message: expect.stringContaining("behavior") },
  ]);
});
