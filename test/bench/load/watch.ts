import { setTimeout } from "node:timers/promises";
import { ask, type Question } from "./ask.ts";
import { summarizeTimes, type Times } from "./measure.ts";

/** How long somebody waits who asks again and again while something else is done. */

type Watch = {
  readonly next: () => Question;
  readonly every_ms: number;
  readonly until: AbortSignal;
};

export async function watchAnswers(
  server: { readonly url: string },
  { next, every_ms, until }: Watch,
): Promise<Times> {
  const times_ms: number[] = [];
  while (!until.aborted) {
    const asked = performance.now();
    const { status, body } = await ask(server, next());
    if (status >= 400) throw new Error(`${status} while something else was done: ${body}`);
    times_ms.push(performance.now() - asked);
    await setTimeout(every_ms);
  }
  return summarizeTimes(times_ms);
}
