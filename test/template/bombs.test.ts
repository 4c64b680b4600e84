import { describe, expect, test } from "vitest";
import { checkTemplate } from "../../src/template/check-template.ts";
import { compileTemplate, renderLinkPage, TemplateRefused } from "../../src/template/link-page.ts";
import { sampleButtons, samples } from "../../src/template/samples.ts";
import { measureLongestStretch } from "../support/longest-stretch.ts";
import { createWorld } from "../support/world.ts";
import { bombs, type Bomb } from "./bombs.ts";

/**
 * What is held is 250 ms for whoever waits for something else. Measured, the worst stretches were
 * about 130 ms, in a process that had never parsed anything before, and 40 ms from then on.
 */
const most_ms = 250;

const empty = { body: "{% store_buttons %}", css: "" } as const;

/** A link with the longest texts that a page looks at, on a path that no sample has. */
const longText = "<x> &amp; ".repeat(2000);
const longAddress = `https://shop.example/${"&".repeat(8000)}`;
const [sample] = samples;
const subject = sample && {
  ...sample,
  link: {
    ...sample.link,
    path: "small",
    name: longText,
    social_description: longText,
    url: longAddress,
  },
  buttons: [...sampleButtons, { kind: "continue", label: "Go on", href: longAddress }] as const,
  nonce: "nonce",
};

test("there are bombs enough, and every one fits into a template", () => {
  expect(bombs.length).toBeGreaterThanOrEqual(70);
  expect(new Set(bombs.map(({ name }) => name)).size).toBe(bombs.length);
  for (const { body = "", css = "" } of bombs) {
    expect([Buffer.byteLength(body) <= 65_536, Buffer.byteLength(css) <= 32_768]).toEqual([
      true,
      true,
    ]);
  }
});

test.each(bombs)("$name: is looked at in short stretches", async ({ body, css }: Bomb) => {
  const source = { ...empty, ...(body && { body }), ...(css && { css }) };
  const stretch = await measureLongestStretch(most_ms, () => checkTemplate(source));
  expect(stretch).toBeLessThan(most_ms);
});

describe("a bomb that lies in the store all the same", () => {
  test.each(bombs)("$name: ends soon when it is rendered", async ({ body = empty.body }: Bomb) => {
    if (subject === undefined) throw new Error("there is no sample");
    const stretch = await measureLongestStretch(most_ms, async () => {
      const template = tryCompile(body);
      if (template === undefined) return;
      const { html } = renderLinkPage({ ...subject, template });
      expect(html.length).toBeLessThan(512 * 1024);
    });
    expect(stretch).toBeLessThan(most_ms);
  });
});

test("a template that takes longer than it may is not shown", () => {
  if (subject === undefined) throw new Error("there is no sample");
  const steps = "{% if 1 == 2 %}{% endif %}".repeat(200);
  const template = compileTemplate({ body: `Own${steps}{% store_buttons %}`, css: "" });
  const show = (most_ms: number) => renderLinkPage({ ...subject, template, most_ms }).html;
  expect(show(Infinity)).toContain("Own");
  expect(show(-1)).not.toContain("Own");
});

test("all bombs at once, over the API, hold nobody up, and leave no memory behind", async () => {
  await using world = await createWorld();
  const keys = [await world.addKey(), await world.addKey(), await world.addKey()];
  const statuses = new Map<number, number>();
  let answered = 0;
  const before = process.memoryUsage().rss;
  const stretch = await measureLongestStretch(most_ms, async () => {
    let isOver = false;
    const others = async () => {
      while (!isOver) {
        expect((await world.call("GET", "/links")).status).toBe(200);
        answered += 1;
        await new Promise(setImmediate);
      }
    };
    const asking = others();
    await Promise.all(
      bombs.map(async ({ body, css }, index) => {
        const key = keys[index % keys.length] ?? world.key;
        const given = { ...empty, ...(body && { body }), ...(css && { css }) };
        const { status } = await world.call("POST", "/page_template/preview", { key, body: given });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
    );
    isOver = true;
    await asking;
  });
  expect(stretch).toBeLessThan(most_ms);
  expect(answered).toBeGreaterThan(bombs.length);
  expect(new Set(statuses.keys())).toEqual(new Set([200, 422]));
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  expect(world.reported).toEqual([]);
});

/** What is refused even then is shown as the default page. */
function tryCompile(body: string) {
  try {
    return compileTemplate({ body, css: "" });
  } catch (error) {
    expect(error).toBeInstanceOf(TemplateRefused);
    return undefined;
  }
}
