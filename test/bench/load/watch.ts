import { setTimeout } from "node:timers/promises";
import { ask, type Question } from "./ask.ts";
import { summarizeTimes, type Times } from "./measure.ts";

/** How long somebody waits who asks again and again while something else is done. */

type Watch = { readonly next: () => Question; readonly every_ms: number };

type Watched<Result> = { readonly waited: Times; readonly result: Result };

/** Ends with whichever of them fails: a server that is gone ends nothing that waits for it. */
export async function watchWhile<Result>(
  server: { readonly url: string },
  { next, every_ms }: Watch,
  work: () => Promise<Result>,
): Promise<Watched<Result>> {
  const times_ms: number[] = [];
  let isDone = false;
  const watch = async () => {
    while (!isDone) {
      const asked = performance.now();
      const { status, body } = await ask(server, next());
      if (status >= 400) throw new Error(`${status} while something else was done: ${body}`);
      times_ms.push(performance.now() - asked);
      await setTimeout(every_ms);
    }
  };
  const working = work().finally(() => (isDone = true));
  const [result] = await Promise.all([working, watch()]);
  return { waited: summarizeTimes(times_ms), result };
}
