import { describe, expect, test } from "vitest";
import {
  compileTemplate,
  renderLinkPage,
  TemplateRefused,
  type CompiledTemplate,
  type PageInput,
} from "../../src/template/link-page.ts";
import { parseLiquid } from "../../src/template/liquid.ts";
import { sampleApps, sampleLink } from "../../src/template/sample-links.ts";
import { findActive } from "./find-active.ts";
import { hostileBodies } from "./hostile-bodies.ts";
import { hostileCss } from "./hostile-css.ts";
import { hostileFields } from "./hostile-fields.ts";
import { hostileLiquid } from "./hostile-liquid.ts";
import { lookOver } from "./look-over.ts";

/** Hostile templates and fields are refused, or what comes of them does nothing. */

const nonce = "the-nonce";

const buttons = [
  { kind: "open", app: "Shop", href: "exampleshop://spring" },
  { kind: "app_store", app: null, href: "https://apps.apple.com/app/id1" },
] as const;

const sample: PageInput = {
  link: sampleLink,
  apps: sampleApps,
  project: { name: "Example Shop" },
  platform: "ios",
  buttons,
  template: undefined,
  language: "en",
  nonce,
  time: undefined,
};

test("the corpus is as large as it should be", () => {
  const lists = [hostileBodies, hostileLiquid, hostileCss, hostileFields];
  for (const list of lists) expect(new Set(list).size).toBe(list.length);
  expect(lists.flat().length).toBeGreaterThanOrEqual(300);
});

describe("a hostile body", () => {
  test.each([...hostileBodies, ...hostileLiquid])(
    "%j is refused, or does nothing",
    async (body) => {
      const problems = await lookOver({ body, css: "" });
      const { html } = renderLinkPage({ ...sample, template: compileAnyway(body) });
      // Even what is refused does nothing where the check is passed by.
      expect(findActive(html, nonce)).toEqual([]);
      for (const { field, line, column, message } of problems) {
        expect([field, line, column]).toEqual(["body", expect.any(Number), expect.any(Number)]);
        expect(message).toMatch(/^\S.*\.$/);
      }
    },
  );

  test("most of them are refused by name", async () => {
    const refused = await Promise.all(
      hostileBodies.map(async (body) => (await lookOver({ body, css: "" })).length > 0),
    );
    expect(refused.filter((isRefused) => !isRefused).length).toBeLessThan(10);
  });
});

test.each(hostileCss)("the hostile sheet %j is refused", async (css) => {
  const problems = await lookOver({ body: "", css });
  expect(problems).not.toEqual([]);
  for (const { field, message } of problems) {
    expect([field, message]).toEqual(["css", expect.stringMatching(/^\S.*\.$/)]);
  }
});

/** Every text that a stranger may have written, in every place where a page shows one. */
const shown = compileTemplate({
  body: `{% store_buttons %}
    <p title="{{ link.name }}" class="{{ link.path }}">{{ link.name }} {{ link.social_title }}</p>
    <a href="{{ link.url }}">{{ link.social_description }}</a> <a href='{{ link.path }}'>x</a>
    <img src="{{ link.social_image_url }}" alt="{{ link.social_title }}"> {{ link.address }}
    {{ apps.ios.name }} {{ apps.ios.bundle_id }} {{ apps.android.name }} {{ project.name }}
    {% for pair in link %}{{ pair[0] }}={{ pair[1] | upcase | truncate: 90 }}{% endfor %}`,
  css: "",
});

describe.each(["default page", "template"])("a hostile field on the %s", (where) => {
  const template = where === "template" ? shown : undefined;
  test.each(hostileFields)("%j is a text and nothing more", (text) => {
    for (const input of placeEverywhere(text)) {
      const { html, headers } = renderLinkPage({ ...input, template });
      expect(findActive(html, nonce)).toEqual([]);
      expect(Object.values(headers).join()).not.toMatch(/[\r\n]/);
    }
  });
});

test("what a template puts out is the text, letter by letter", () => {
  for (const text of ["<b>&amp;\"'`</b>", "{{ x }}{% y %}", "a < b && c > d"]) {
    const link = { ...sampleLink, social_title: text };
    const template = compileTemplate({ body: "{{ link.name }}{% store_buttons %}", css: "" });
    const { html } = renderLinkPage({ ...sample, link, template });
    const [, body = ""] = /<body class="ios">(.*?)<div/s.exec(html) ?? [];
    expect(unescape(body)).toBe(text);
  }
});

function placeEverywhere(text: string): readonly PageInput[] {
  const link = { ...sampleLink, social_title: text, social_description: text };
  const addresses = { url: text, social_image_url: text, path: text };
  const ios = { ...sampleApps.ios, name: text, app_store_id: text, clip_bundle_id: text };
  const android = { ...sampleApps.android, name: text, package_name: text };
  return [
    { ...sample, link: { ...link, ...addresses }, apps: { ios, android } },
    { ...sample, link, project: { name: text }, platform: "android" },
    { ...sample, buttons: buttons.map((button) => ({ ...button, app: text })) },
    { ...sample, buttons: buttons.map((button) => ({ ...button, href: text })) },
  ];
}

function unescape(html: string): string {
  const names: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'" };
  return html
    .replace(/&(lt|gt|quot|#39);/g, (_, name: string) => names[name] ?? "")
    .replaceAll("&amp;", "&");
}

/** As it would be if nobody had checked it; what Liquid itself cannot read has no page. */
function compileAnyway(body: string): CompiledTemplate | undefined {
  try {
    return { templates: parseLiquid(body), css: "", isStarter: false };
  } catch {
    expect(() => compileTemplate({ body, css: "" })).toThrow(TemplateRefused);
    return undefined;
  }
}
