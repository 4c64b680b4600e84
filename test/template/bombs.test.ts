import { describe, expect, test } from "vitest";
import { compileTemplate, renderLinkPage, TemplateRefused } from "../../src/template/link-page.ts";
import { sampleButtons, samples } from "../../src/template/sample-links.ts";
import { starter } from "../../src/template/starter-template.ts";
import { bombs, type Bomb } from "./bombs.ts";
import { lookOver } from "./look-over.ts";
import { Session, type Profiler } from "node:inspector/promises";
import { openForAll } from "../support/open-for.ts";

/** Counts how often V8 enters each function and block, which is the same on any machine. */
type StepCounter = {
  readonly count: <Result>(work: () => Result | Promise<Result>) => Promise<CountedResult<Result>>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

type CountedResult<Result> = { readonly result: Result; readonly steps: number };

async function openStepCounter(): Promise<StepCounter> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const take = async () => (await session.post("Profiler.takePreciseCoverage")).result;
  return {
    count: async (work) => {
      await take();
      const result = await work();
      return { result, steps: sumSteps(await take()) };
    },
    [Symbol.asyncDispose]: async () => {
      await session.post("Profiler.stopPreciseCoverage");
      session.disconnect();
    },
  };
}

function sumSteps(scripts: readonly Profiler.ScriptCoverage[]): number {
  return scripts
    .filter(({ url }) => !isRunner.test(url))
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, { count }) => sum + count, 0);
}

/** The test runner's own code also runs. */
const isRunner = /\/node_modules\/(?:@vitest|vitest|vite|tinyrainbow|chai|expect)|^node:/;

/** Other work waits for one piece of a check: at most 4,900,000 steps, 8,400,000 when compiled. */
const mostSteps = { piece: 6_000_000, compiled: 10_000_000 } as const;

const empty = { body: "{% store_buttons %}", css: "" } as const;

/** A link with the longest texts that a page uses, at a path that no sample has. */
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

test("this test contains at least 70 different template bombs within the size limits", () => {
  expect(bombs.length).toBeGreaterThanOrEqual(70);
  expect(new Set(bombs.map(({ name }) => name)).size).toBe(bombs.length);
  for (const { body = "", css = "" } of bombs) {
    expect([Buffer.byteLength(body) <= 65_536, Buffer.byteLength(css) <= 32_768]).toEqual([
      true,
      true,
    ]);
  }
});

describe("the number of steps", () => {
  let counter: StepCounter;
  openForAll(openStepCounter, (opened) => (counter = opened));

  test.each(bombs)(
    'the check of "$name" is split into pieces with few steps each',
    async ({ body, css }: Bomb) => {
      const source = { ...empty, ...(body && { body }), ...(css && { css }) };
      const whole = await counter.count(() => lookOver(source));
      // Even a single piece with all steps would be small enough.
      if (whole.steps < mostSteps.piece) return;
      const pieces: number[] = [];
      await lookOver(source, async (work) => {
        const { result, steps } = await counter.count(work);
        pieces.push(steps);
        return result;
      });
      expect(pieces.length).toBeGreaterThan(0);
      expect(Math.max(...pieces)).toBeLessThan(mostSteps.piece);
    },
  );

  test("the check of the default design takes more than 10,000 steps", async () => {
    const { steps } = await counter.count(() => lookOver(starter));
    expect(steps).toBeGreaterThan(10_000);
  });

  describe("a published template", () => {
    test.each(bombs)(
      'with "$name" is rendered in few steps and shows the buttons once',
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
        expect(result.html.split('class="store-buttons"')).toHaveLength(2);
      },
    );
  });
});

/** If the template cannot be compiled, visitors see the default page. */
function tryCompile(body: string) {
  try {
    return compileTemplate({ body, css: "" });
  } catch (error) {
    expect(error).toBeInstanceOf(TemplateRefused);
    return undefined;
  }
}
