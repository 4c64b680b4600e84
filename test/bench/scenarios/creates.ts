import type { Access } from "../data/data-file.ts";
import { createNamer } from "../data/names.ts";
import { addBenchProject, type BenchProject } from "../data/bench-project.ts";
import type { Question } from "../load/ask.ts";
import { fire } from "../load/fire.ts";
import { summarize } from "../load/measure.ts";
import { createRing } from "../ring.ts";
import { serveStore } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Many clients create links at once. Each response waits until the link is stored durably. */

const writers = 32;
const perSecond = 700;

export async function* measureCreates({ extent, makeStore }: Subject): Rounds {
  await using file = await makeStore();
  const keys = await addKeys(file);
  await using server = await serveStore(file);
  const barrage = { status: 201, questions: createQuestions(keys) };
  await fire(server, { ...barrage, connections: writers, requests: perSecond });
  for (;;) {
    const many = { connections: writers, requests: perSecond * extent.seconds };
    const crowd = summarize(await fire(server, { ...barrage, ...many }));
    yield [
      {
        what: `${writers} at once`,
        unit: "a second",
        value: crowd.per_second,
        target: { least: 2000 },
      },
      { what: `${writers} at once, CPU`, unit: "µs", value: crowd.cpu_us, target: { most: 400 } },
      { what: `${writers} at once, p99`, unit: "ms", value: crowd.p99_ms },
      { what: `of a core: the server, ${writers} at once`, unit: "%", value: crowd.share_percent },
    ];
  }
}

/** Keys of several projects in turns: a single project would soon get an index. */
async function addKeys(file: Access): Promise<readonly string[]> {
  const projects: BenchProject[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    projects.push(await addBenchProject(file, `writers-${turn}`, 25));
  }
  const [first] = projects;
  return (first?.keys ?? []).flatMap((_, turn) => projects.map(({ keys }) => keys[turn] ?? ""));
}

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
