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
import { hostileBodies } from "./hostile-bodies.ts";
import { hostileCss } from "./hostile-css.ts";
import { hostileFields } from "./hostile-fields.ts";
import { hostileLiquid } from "./hostile-liquid.ts";
import { lookOver } from "./look-over.ts";
import { html, parse, type DefaultTreeAdapterMap } from "parse5";

/** Hostile templates and fields are refused or have no effect. */

type Node = DefaultTreeAdapterMap["node"];
type Element = DefaultTreeAdapterMap["element"];

const allowed = new Set(
  [
    "html head body meta title link style main article section header footer nav aside div span p",
    "h1 h2 h3 h4 h5 h6 a b i u s em strong small mark sub sup br hr wbr img ul ol li dl dt dd",
    "table thead tbody tfoot tr td th caption col colgroup details summary figure figcaption",
    "blockquote q cite code pre kbd samp var abbr address time del ins dfn bdi bdo ruby rt rp menu",
    "hgroup svg path",
  ].flatMap((line) => line.split(" ")),
);

const metaNames = /^(?:viewport|color-scheme|description|apple-itunes-app|twitter:[a-z]+)$/;
const metaProperties = /^(?:og|al):[a-z_:]+$/;

/** Finds what runs, loads or redirects in a page. Shares no code with the rules it checks. */
function findActive(page: string, nonce: string): readonly string[] {
  const found: string[] = [];
  visit(parse(page), found, nonce);
  return found;
}

function visit(node: Node, found: string[], nonce: string): void {
  if ("tagName" in node) checkElement(node, found, nonce);
  if ("content" in node) visit(node.content, found, nonce);
  if ("childNodes" in node) for (const child of node.childNodes) visit(child, found, nonce);
}

function checkElement(
  { tagName, attrs, namespaceURI }: Element,
  found: string[],
  nonce: string,
): void {
  const shown = `<${tagName}${attrs.map(({ name, value }) => ` ${name}=${value}`).join("")}>`;
  const given = new Map(attrs.map(({ name, value }) => [name, value]));
  const isOurs = namespaceURI !== html.NS.HTML;
  if (isOurs && tagName !== "svg" && tagName !== "path") found.push(shown);
  if (!allowed.has(tagName)) found.push(shown);
  if (tagName === "style" && given.get("nonce") !== nonce) found.push(shown);
  if (tagName === "link" && !["icon", "canonical"].includes(given.get("rel") ?? "")) {
    found.push(shown);
  }
  if (tagName === "link" && given.get("rel") === "icon" && given.get("href") !== "data:,") {
    found.push(shown);
  }
  if (tagName === "meta") {
    const isKnown =
      given.has("charset") ||
      metaNames.test(given.get("name") ?? "") ||
      metaProperties.test(given.get("property") ?? "") ||
      given.get("http-equiv") === "content-security-policy";
    if (!isKnown) found.push(shown);
  }
  for (const { name, value } of attrs) {
    if (name.startsWith("on") || name === "style" || name === "srcset" || name === "ping") {
      found.push(shown);
    }
    if (name === "href" && tagName === "a" && !isHarmless(value)) found.push(shown);
    if (name === "src" && !/^(?:https:\/\/|data:image\/)/.test(value)) found.push(shown);
  }
}

/** The only custom scheme in these tests is exampleshop. */
function isHarmless(address: string): boolean {
  return /^(?:https?:\/\/[^\s\\]+|mailto:.+|tel:.+|#\S*|exampleshop:\/\/.*)$/.test(address);
}

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

test("this test contains at least 300 different hostile samples", () => {
  const lists = [hostileBodies, hostileLiquid, hostileCss, hostileFields];
  for (const list of lists) expect(new Set(list).size).toBe(list.length);
  expect(lists.flat().length).toBeGreaterThanOrEqual(300);
});

describe("a hostile body", () => {
  test.each(nameByStart([...hostileBodies, ...hostileLiquid]))(
    "has no effect even if it is rendered unchecked: %j",
    async (_start, body) => {
      const problems = await lookOver({ body, css: "" });
      const { html } = renderLinkPage({ ...sample, template: compileAnyway(body) });
      // Even refused bodies must have no effect when they are rendered unchecked.
      expect(findActive(html, nonce)).toEqual([]);
      for (const { field, line, column, message } of problems) {
        expect([field, line, column]).toEqual(["body", expect.any(Number), expect.any(Number)]);
        expect(message).toMatch(/^\S.*\.$/);
      }
    },
  );

  test("is refused by the template check, with fewer than 10 exceptions", async () => {
    const refused = await Promise.all(
      hostileBodies.map(async (body) => (await lookOver({ body, css: "" })).length > 0),
    );
    expect(refused.filter((isRefused) => !isRefused).length).toBeLessThan(10);
  });
});

test.each(hostileCss)("the hostile CSS %j is refused", async (css) => {
  const problems = await lookOver({ body: "", css });
  expect(problems).not.toEqual([]);
  for (const { field, message } of problems) {
    expect([field, message]).toEqual(["css", expect.stringMatching(/^\S.*\.$/)]);
  }
});

/** Shows every text field in every place of a page. */
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
  test.each(nameByStart(hostileFields))("is shown as text: %j", (_start, text) => {
    for (const input of placeEverywhere(text)) {
      const { html, headers } = renderLinkPage({ ...input, template });
      expect(findActive(html, nonce)).toEqual([]);
      expect(Object.values(headers).join()).not.toMatch(/[\r\n]/);
    }
  });
});

test("a template outputs the special characters in a field exactly", () => {
  for (const text of ["<b>&amp;\"'`</b>", "{{ x }}{% y %}", "a < b && c > d"]) {
    const link = { ...sampleLink, social_title: text };
    const template = compileTemplate({ body: "{{ link.name }}{% store_buttons %}", css: "" });
    const { html } = renderLinkPage({ ...sample, link, template });
    const [, body = ""] = /<body class="ios">(.*?)<div/s.exec(html) ?? [];
    expect(unescape(body)).toBe(text);
  }
});

/** Some samples are too long for the name of a test. */
function nameByStart(samples: readonly string[]): readonly (readonly [string, string])[] {
  return samples.map((sample) => [sample.slice(0, 70), sample]);
}

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

/** Compiles a template without checking it; undefined if Liquid cannot parse it. */
function compileAnyway(body: string): CompiledTemplate | undefined {
  try {
    return { templates: parseLiquid(body), css: "", isStarter: false };
  } catch {
    expect(() => compileTemplate({ body, css: "" })).toThrow(TemplateRefused);
    return undefined;
  }
}
