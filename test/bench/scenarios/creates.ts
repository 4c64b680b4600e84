import { makeDataFile, type DataFile } from "../ground/data-file.ts";
import { createNamer } from "../ground/names.ts";
import { addPlot, type Plot } from "../ground/plots.ts";
import type { Question } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { summarize } from "../load/measure.ts";
import { noDearer, noSlower } from "../results/finding.ts";
import { createRing } from "../ring.ts";
import { serve } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Creates, each of them durable before it is answered: many writers at once, and one alone. */

const writers = 32;
const perSecond = 700;
const perSecondAlone = 100;

export async function* measureCreates({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const keys = await addKeys(file);
  await using server = await serve(build, file.folder);
  const barrage = { status: 201, questions: createQuestions(keys) };
  await fire(server, { ...barrage, connections: writers, requests: perSecond });
  for (;;) {
    const many = { connections: writers, requests: perSecond * extent.seconds };
    const crowd = summarize(await fire(server, { ...barrage, ...many }));
    const single = { connections: 1, requests: perSecondAlone * extent.seconds };
    const alone = summarize(await fire(server, { ...barrage, ...single }));
    yield [
      {
        what: `${writers} at once`,
        unit: "a second",
        value: crowd.per_second,
        target: { least: 1300, leastOfBefore: 2.2 },
      },
      { what: `${writers} at once, CPU`, unit: "µs", value: crowd.cpu_us, target: { most: 700 } },
      { what: `${writers} at once, p99`, unit: "ms", value: crowd.p99_ms },
      { what: `of a core: the server, ${writers} at once`, unit: "%", value: crowd.share_percent },
      { what: "alone", unit: "a second", value: alone.per_second, target: noSlower },
      { what: "alone, p50", unit: "ms", value: alone.p50_ms, target: noDearer },
      { what: "alone, CPU", unit: "µs", value: alone.cpu_us, target: { most: 2000 } },
    ];
  }
}

/** Of several projects in turns: one alone would soon be so large that it gets an index. */
async function addKeys(file: DataFile): Promise<readonly string[]> {
  const plots: Plot[] = [];
  for (let turn = 0; turn < 10; turn += 1) plots.push(await addPlot(file, `writers-${turn}`, 25));
  const [first] = plots;
  return (first?.keys ?? []).flatMap((_, turn) => plots.map(({ keys }) => keys[turn] ?? ""));
}

/** New links with names and paths of their own, from one key after the other. */
export function createQuestions(keys: readonly string[]): () => Question {
  const namer = createNamer();
  const nextKey = createRing(keys);
  const series = Date.now().toString(36);
  let turn = 0;
  return () => {
    const path = `${namer.nextWord()}/${series}-${(turn += 1)}`;
    const body = { name: namer.nextName(), path, url: `https://www.example.com/${path}` };
    return { method: "POST", path: "/api/v1/links", token: nextKey(), body };
  };
}
