import { isDeepStrictEqual } from "node:util";
import { summarize, type Sample } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import type { Said } from "../servers/bundle-bare.ts";
import { takeBoth } from "../take-both.ts";
import type { Extent, Rounds } from "./scenario.ts";

/**
 * get_link of a warm server beside a bare server of the same SDK with as many tools, which answers
 * the same bytes: one call after the other, and many at once.
 */

const perSecond = 500;
const crowd = 32;

/** A tool of a server, and the same tool of the bare server. */
export type Pair = { readonly what: string; readonly ours: Callee; readonly bare: Callee };

export type Callee = {
  /** Calls the tool so many times, so many of them at once. */
  readonly call: (many: number, count: number) => Promise<Sample>;
  readonly read: () => Promise<unknown>;
};

export async function* comparePairs(pairs: readonly Pair[], extent: Extent): Rounds {
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
  { what, ours, bare }: Pair,
  many: number,
  count: number,
  round: number,
): Promise<readonly Finding[]> {
  const measure = async (callee: Callee) => summarize(await callee.call(many, count));
  const [figures, beside] = await takeBoth(
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
      value: figures.cpu_us / beside.cpu_us,
      target: { most: 2 },
    },
    { what: `${named}, p50`, unit: "ms", value: figures.p50_ms },
  ];
}

/** Creates the link, and reads which tools the bare server needs and what they answer. */
export async function prepareLink(
  // The bench reads results as freely as a client in any language would.
  // oxlint-disable-next-line typescript/no-explicit-any
  ask: (method: string, params?: object) => Promise<any>,
): Promise<{ readonly params: object; readonly said: Said }> {
  const { tools } = await ask("tools/list");
  const names = tools.map(({ name }: { readonly name: string }) => name);
  const link = { path: "spring", url: "https://www.example.com/spring" };
  const made = await ask("tools/call", { name: "create_link", arguments: link });
  const params = { name: "get_link", arguments: { id: made.structuredContent.link.id } };
  return { params, said: { names, result: pickGiven(await ask("tools/call", params)) } };
}

/** The tool's own answer, without the fields that a server adds. */
function pickGiven(result: unknown): Said["result"] {
  // Every answer of a tool has these two.
  const { content, structuredContent } = result as Said["result"];
  return { content, structuredContent };
}
