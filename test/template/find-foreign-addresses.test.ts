import { describe, expect, test } from "vitest";
import { judgeBy } from "../../src/contract/rules/destinations.ts";
import { findForeignAddresses } from "../../src/template/find-foreign-addresses.ts";
import { compileTemplate, renderLinkPage } from "../../src/template/link-page.ts";
import type { PageSubject } from "../../src/template/page-input.ts";
import { samples } from "../../src/template/sample-links.ts";
import { starter } from "../../src/template/starter-template.ts";

/** Hostile and harmless templates of a project that only allows shop.example. */

const judge = judgeBy(["shop.example", "*.shop.example"]);
const buttons = "{% store_buttons %}";

function find(body: string) {
  return findForeignAddresses(`${body}${buttons}`, judge);
}

/** A link whose name a template may test for; no sample has it. */
function subjectNamed(name: string): PageSubject {
  const [sample] = samples;
  if (sample === undefined) throw new Error("there is no sample");
  return { ...sample, link: { ...sample.link, social_title: name } };
}

function render(body: string, name: string): string {
  const template = compileTemplate({ body: `${body}${buttons}`, css: "" });
  const language = "en" as const;
  const given = { buttons: [], template, language, nonce: "n", time: undefined };
  return renderLinkPage({ ...subjectNamed(name), ...given }).html;
}

const image = '<img alt="" src="https://evil.example/a.png">';

const others = '{% if link.name != "T" %}';

/** Each template shows some visitors a picture or link of another host. */
const hostile = [
  image,
  '<a href="https://evil.example">x</a>',
  '<a href="//evil.example/">x</a>',
  '<a href="https://shop.example@evil.example/">x</a>',
  '<a href="https://shop.example.evil.example/">x</a>',
  '<a href="&#104;ttps://&#101;vil.example/">x</a>',
  '<q cite="https://evil.example/">x</q>',
  "<img alt='' src=https://evil.example/a.png>",
  '<IMG ALT="" SRC="https://evil.example/a.png">',
  '<a href="{% if link.name %}https://evil.example/{% endif %}">x</a>',
  '<a href="https://{{ "evil.example" }}/">x</a>',
  '<a href="{{ "https://evil.example/" }}">x</a>',
  '{% assign x = "https://evil.example/" %}<a href="{{ x }}">x</a>',
  '{% assign link = "https://evil.example/" %}<a href="{{ link.url }}">x</a>',
  `{%assign\u180elink = "https://evil.example/" %}<a href="{{ link.url }}">x</a>`,
  '{% for link in (1..2) %}<a href="{{ link.url }}">x</a>{% endfor %}',
  '<a href="{{ link.url | default: "https://evil.example/" }}">x</a>',
  '<a href="{{ link.name }}">x</a>',
  '<a href="{{ link.url }}{{ link.name }}">x</a>',
  '<a href="https://shop.example{{ ".evil.example" }}/">x</a>',
  '<a href="https://shop.example{% if link.name %}.evil.example/{% endif %}{{ link.path }}">x</a>',
  '<a href="{% if a %}https://shop.example/{{ x }}{% else %}https://evil.example/{% endif %}">',
  '<a href="{% if a %}https://shop.example/{% else %}https://evil.example/{% endif %}{{ x }}">',
  `<img title${others}="{% endif %} src=https://evil.example/ ${others}"{% endif %}>`,
  `<a title${others}="{% endif %} href=https://evil.example/ ${others}"{% endif %}>x</a>`,
  `${others}<a title="{% endif %}${image}${others}">x</a>{% endif %}`,
  `${others}<!--{% endif %}${image}${others}-->{% endif %}`,
  `<!-- -{% if link.name == "T" %}{% endif %}-> ${image} -->`,
  `<!-- -{{ "" }}-> ${image} -->`,
  `<!-{% if true %}{% endif %}- > ${image} -->`,
  '<{% if true %}{% endif %}img alt="" src="https://evil.example/a.png">',
  '<{%- if true -%}{%- endif -%}img alt="" src="https://evil.example/a.png">',
  '< {%- if true -%}img{% endif %} alt="" src="https://evil.example/a.png">',
  `</p {% if link.name == "T" %}>{% endif %} ${image}>`,
  `</p title="{% if link.name == "T" %}">${image}{% endif %}">`,
  // A quoted value ends a block that started before it.
  `{% if a %}<a title="{% endif %}{% if x %}">x</a>{% endif %}`,
  '{% assign x = " href=https://evil.example/" %}<a title=a{{ x }}>x</a>',
  '{% assign x = " href=https://evil.example/" %}<a title= {{ x }}>x</a>',
  '<a {{ "href=https://evil.example" }}>x</a>',
  '<a {% if link.name == "T" %}href="https://evil.example/"{% endif %}>x</a>',
  `<a title='{% if link.name == "T" %}' href='https://evil.example/' lang='{% endif %}'>x</a>`,
  '<a title="x" title="{% if true %}" href="https://evil.example/{% endif %}">x</a>',
  '<svg><a xlink:href="https://evil.example" href="https://evil.example">x</a></svg>',
  '<form action="https://evil.example/">x</form>',
] as const;

const honest = [
  starter.body.replace(buttons, ""),
  '<a href="https://shop.example">x</a>',
  '<a href="https://a.SHOP.example:8443/{{ link.path }}?from={{ link.name }}#x">x</a>',
  "<a href='{{ link.url }}'>x</a>",
  '<img src="{{- link.social_image_url -}}" alt="{{ link.name }}">',
  '{% if link.social_image_url %}<img src="{{ link.social_image_url }}" alt="">{% endif %}',
  '<a href="#top">x</a><a href="mailto:a@evil.example">x</a><a href="tel:1">x</a><a href="">x</a>',
  '<img src="data:image/png;base64,AAAA" alt="">',
  '<p class="a {% if platform == "ios" %}b{% else %}c{% endif %}" title="{{ link.name }}">x</p>',
  '<p class="{% case platform %}{% when "ios" %}b{% endcase %}">x</p>',
  "<!-- a comment --><p>1 &lt; 2, see https://evil.example/</p>",
  "{% comment %}<a href='https://evil.example/'>{% endcomment %}",
  '{% for i in (1..2) %}<a href="https://shop.example/{{ i }}">x</a>{% endfor %}',
] as const;

describe("a template with a URL on a forbidden host", () => {
  test.each(hostile)("is refused: %s", (body) => {
    const problems = find(body);
    expect(problems).not.toEqual([]);
    for (const problem of problems) {
      expect(problem).toEqual({
        field: "body",
        line: 1,
        column: expect.any(Number),
        message: expect.stringMatching(/\.$/),
      });
    }
  });

  test("would pass a check of rendered samples if only one link's page shows the URL", () => {
    const patient = hostile.filter((body) => body.includes('"T"'));
    const shown = patient.filter((body) => {
      try {
        const shows = (name: string) => /(?:src|href)="https:\/\/evil/.test(render(body, name));
        return shows("T") && !shows("Other");
      } catch {
        return false;
      }
    });
    expect(shown.length).toBeGreaterThan(2);
  });

  test("is reported with the URL's position and host", () => {
    expect(find(`<p>\n  ${image}</p>`)).toEqual([
      {
        field: "body",
        line: 2,
        column: 15,
        message:
          "This address must point to one of the allowed hosts (shop.example, *.shop.example), " +
          "not to evil.example.",
      },
    ]);
  });
});

test.each(honest)("a template with only allowed URLs is accepted: %s", (body) => {
  expect(find(body)).toEqual([]);
});
