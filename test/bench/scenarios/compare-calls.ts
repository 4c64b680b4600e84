import { isDeepStrictEqual } from "node:util";
import { summarize, type Sample } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import type { BareResponses } from "../servers/bundle-bare.ts";
import { takeBoth } from "../take-both.ts";
import type { Extent, Rounds } from "./scenario.ts";

/** Compares get_link with a tool that sends the same bytes on a bare server of the same SDK. */

const perSecond = 500;
const crowd = 32;

/** A tool of Waypost, and the tool of the bare server that returns the same. */
export type CalleePair = { readonly what: string; readonly ours: Callee; readonly bare: Callee };

export type Callee = {
  readonly call: (many: number, count: number) => Promise<Sample>;
  readonly read: () => Promise<unknown>;
};

export async function* comparePairs(pairs: readonly CalleePair[], extent: Extent): Rounds {
  for (const { ours, bare } of pairs) {
    const [said, expected] = [pickGiven(await ours.read()), pickGiven(await bare.read())];
    if (!isDeepStrictEqual(said, expected)) throw new Error("the bare server's answer differs");
    for (const callee of [ours, bare]) {
      for (const many of [1, crowd]) await callee.call(many, Math.ceil(extent.warming / 2));
    }
  }
  for (let round = 0; ; round += 1) {
    const findings: Finding[] = [];
    for (const pair of pairs) {
      for (const many of [1, crowd]) {
        findings.push(...(await measurePair(pair, many, perSecond * extent.seconds, round)));
      }
    }
    yield findings;
  }
}

async function measurePair(
  { what, ours, bare }: CalleePair,
  many: number,
  count: number,
  round: number,
): Promise<readonly Finding[]> {
  const measure = async (callee: Callee) => summarize(await callee.call(many, count));
  const [figures, bareFigures] = await takeBoth(
    round,
    () => measure(ours),
    () => measure(bare),
  );
  const named = many === 1 ? what : `${what}, ${many} at once`;
  return [
    { what: `${named}, CPU`, unit: "µs", value: figures.cpu_us },
    {
      what: `${named}, CPU of the bare tool`,
      unit: "times",
      value: figures.cpu_us / bareFigures.cpu_us,
      target: { most: 2 },
    },
    { what: `${named}, p50`, unit: "ms", value: figures.p50_ms },
  ];
}

export async function prepareLink(
  // The bench reads results without types, like clients in other languages.
  // oxlint-disable-next-line typescript/no-explicit-any
  ask: (method: string, params?: object) => Promise<any>,
): Promise<{ readonly params: object; readonly said: BareResponses }> {
  const { tools } = await ask("tools/list");
  const names = tools.map(({ name }: { readonly name: string }) => name);
  const link = { path: "spring", url: "https://www.example.com/spring" };
  const made = await ask("tools/call", { name: "create_link", arguments: link });
  const params = { name: "get_link", arguments: { id: made.structuredContent.link.id } };
  return { params, said: { names, result: pickGiven(await ask("tools/call", params)) } };
}

/** The tool's result, without the fields that a server adds. */
function pickGiven(result: unknown): BareResponses["result"] {
  // Every result of our tools has these two fields.
  const { content, structuredContent } = result as BareResponses["result"];
  return { content, structuredContent };
}
