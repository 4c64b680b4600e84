import { createKeyRing, type Ground, type Plot } from "./ground.ts";
import { fire, type Question, type Server } from "./http.ts";
import { summarize } from "./measure.ts";
import { createNamer } from "./names.ts";
import type { Row } from "./table.ts";

/** Creates, each of them durable before it is answered, in an empty and in a very large project. */
export async function measureCreates(
  waypost: Server,
  { empty, large }: Ground,
  seconds: number,
): Promise<readonly Row[]> {
  const places = [
    { plot: empty, where: "an empty project" },
    { plot: large, where: "the large project, with its index" },
  ];
  const rows: Row[] = [];
  for (const { plot, where } of places) {
    const barrage = { seconds, status: 201, questions: createQuestions(plot) };
    // The first ones are for the compiler.
    await fire(waypost, barrage);
    rows.push({
      what: `POST /links in ${where}`,
      figures: summarize(await fire(waypost, { ...barrage, seconds: 3 * seconds })),
      target: { measure: "cpu_us", limit: 2000 },
    });
  }
  return rows;
}

/** New links with names and paths of their own, from one key after the other. */
export function createQuestions(plot: Plot): () => Question {
  const namer = createNamer();
  const nextKey = createKeyRing(plot);
  const series = Date.now().toString(36);
  let turn = 0;
  return () => {
    const path = `${namer.nextWord()}/${series}-${(turn += 1)}`;
    const body = { name: namer.nextName(), path, url: `https://www.example.com/${path}` };
    return { method: "POST", path: "/api/v1/links", token: nextKey(), body };
  };
}
