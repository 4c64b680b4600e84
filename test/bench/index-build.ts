import { setTimeout } from "node:timers/promises";
import { readTally } from "../../src/store/project-tallies.ts";
import { createIndex, wholeIndex } from "../../src/store/trigram-index.ts";
import { createQuestions } from "./creates.ts";
import type { Ground } from "./ground.ts";
import type { Server } from "./http.ts";
import type { Figures } from "./measure.ts";
import { watchAnswers } from "./watch.ts";

/** How long the trigram index of a very large project takes, and who waits for it meanwhile. */
export type IndexBuild = {
  readonly seconds: number;
  readonly reads: Figures;
  readonly writes: Figures;
};

const pollEvery_ms = 100;

/** The serving process builds it, as it would by itself; we keep asking and writing beside it. */
export async function measureIndexBuild(waypost: Server, ground: Ground): Promise<IndexBuild> {
  const { store, large, samples } = ground;
  const { projectId } = large;
  const [{ id } = { id: "" }] = samples;
  const read = { path: `/api/v1/links/${id}`, token: large.keys[0] ?? "" };
  const done = new AbortController();
  const started = performance.now();
  await store.write((db) => createIndex({ db, projectId }));
  const reads = watchAnswers(waypost, { next: () => read, every_ms: 5, until: done.signal });
  const writes = watchAnswers(waypost, {
    next: createQuestions(large),
    every_ms: 50,
    until: done.signal,
  });
  while ((await readTally({ db: store.db, projectId })).indexed_to !== wholeIndex) {
    await setTimeout(pollEvery_ms);
  }
  const seconds = (performance.now() - started) / 1000;
  done.abort();
  return { seconds, reads: await reads, writes: await writes };
}
