import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compileTemplate, renderLinkPage, TemplateRefused } from "../../src/template/link-page.ts";
import { sampleButtons, samples } from "../../src/template/sample-links.ts";
import { starter } from "../../src/template/starter-template.ts";
import { openStepCounter, type StepCounter } from "../support/count-steps.ts";
import { measureHeld } from "../support/measure-held.ts";
import { createWorld } from "../support/world.ts";
import { bombs, type Bomb } from "./bombs.ts";
import { lookOver } from "./look-over.ts";

/**
 * Whoever waits for something else waits for one piece of the work. The largest piece of a check
 * takes 4,900,000 steps, which is a tenth of a second where a processor is slow, and a stored
 * template, which is looked over and parsed in one piece at its first visit, 8,400,000.
 */
const mostSteps = { piece: 6_000_000, compiled: 10_000_000 } as const;

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
  buttons: [...sampleButtons, { kind: "continue", app: null, href: longAddress }] as const,
  language: "en" as const,
  nonce: "nonce",
  time: undefined,
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

describe("by the steps that are carried out", () => {
  let counter: StepCounter;
  beforeAll(async () => {
    counter = await openStepCounter();
  });
  afterAll(() => counter[Symbol.asyncDispose]());

  test.each(bombs)("$name: is looked at in short pieces", async ({ body, css }: Bomb) => {
    const source = { ...empty, ...(body && { body }), ...(css && { css }) };
    const pieces: number[] = [];
    await lookOver(source, async (work) => {
      const { result, steps } = await counter.count(work);
      pieces.push(steps);
      return result;
    });
    expect(pieces.length).toBeGreaterThan(0);
    expect(Math.max(...pieces)).toBeLessThan(mostSteps.piece);
  });

  test("the default design takes some steps as well", async () => {
    const { steps } = await counter.count(() => lookOver(starter));
    expect(steps).toBeGreaterThan(10_000);
  });

  describe("a bomb that lies in the store all the same", () => {
    test.each(bombs)(
      "$name: ends soon when it is rendered",
      async ({ body = empty.body }: Bomb) => {
        if (subject === undefined) throw new Error("there is no sample");
        const compiled = await counter.count(() => tryCompile(body));
        expect(compiled.steps).toBeLessThan(mostSteps.compiled);
        const template = compiled.result;
        if (template === undefined) return;
        const { result, steps } = await counter.count(() =>
          renderLinkPage({ ...subject, template }),
        );
        expect(steps).toBeLessThan(mostSteps.piece);
        expect(result.html.length).toBeLessThan(512 * 1024);
      },
    );
  });
});

test("a template that takes longer than it may is not shown", () => {
  if (subject === undefined) throw new Error("there is no sample");
  const steps = "{% if 1 == 2 %}{% endif %}".repeat(200);
  const template = compileTemplate({ body: `Own${steps}{% store_buttons %}`, css: "" });
  // Each look at this clock takes a millisecond.
  const show = (most_ms: number) => {
    let now = 0;
    const time = { monotonic: () => (now += 1), most_ms };
    return renderLinkPage({ ...subject, template, time }).html;
  };
  expect(show(100)).toContain("Own");
  expect(show(0)).not.toContain("Own");
});

test("all bombs at once, over the API, hold nobody up, and leave no memory behind", async () => {
  // They come all from one project, whose calls are done one by one; no deadline rings meanwhile.
  await using world = await createWorld();
  const keys = [await world.addKey(), await world.addKey(), await world.addKey()];
  const statuses = new Map<number, number>();
  let answered = 0;
  let isOver = false;
  const others = async () => {
    while (!isOver) {
      expect((await world.call("GET", "/links")).status).toBe(200);
      answered += 1;
      await new Promise(setImmediate);
    }
  };
  const before = await measureHeld();
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
  expect(answered).toBeGreaterThan(bombs.length);
  expect(new Set(statuses.keys())).toEqual(new Set([200, 422]));
  expect((await measureHeld()) - before).toBeLessThan(32 * 1024 * 1024);
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
