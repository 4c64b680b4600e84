import autocannon from "autocannon";
import type { Server } from "../servers/http-server.ts";
import { spell, type Question } from "./ask.ts";
import type { Sample } from "./measure.ts";

/** So many connections, each of which asks again as soon as it was answered. */
export type Barrage = {
  readonly connections?: number;
  /** How many in all. */
  readonly requests: number;
  /** What every answer must be; anything else ends the bench. */
  readonly status: number;
  /** What each connection asks in turns, or what makes a new question for each request. */
  readonly questions: readonly Question[] | (() => Question);
};

type Faults = { readonly errors: number; readonly timeouts: number };

export async function fire(
  server: Pick<Server, "url" | "readCpu_us">,
  { connections = 10, requests: amount, status, questions }: Barrage,
): Promise<Sample> {
  const times_ms: number[] = [];
  const strange: number[] = [];
  let ended = performance.now();
  const note = (code: number, time_ms: number) => {
    ended = performance.now();
    if (code === status) times_ms.push(time_ms);
    else strange.push(code);
  };
  const requests =
    typeof questions === "function"
      ? [{ setupRequest: (blank: object) => ({ ...blank, ...spell(questions()) }) }]
      : questions.map(spell);
  const cpuBefore_us = await server.readCpu_us();
  const started = performance.now();
  const fallAsleep = stayAwake();
  const { errors, timeouts } = await new Promise<Faults>((resolve, reject) => {
    autocannon({ url: server.url, connections, amount, requests }, (error, result) =>
      error === null ? resolve(result) : reject(error),
    ).on("response", (_client, code: number, _bytes, time_ms: number) => note(code, time_ms));
  }).finally(fallAsleep);
  // autocannon sees only once a second that all of them were answered.
  const elapsed_ms = ended - started;
  const cpu_us = (await server.readCpu_us()) - cpuBefore_us;
  if (errors + timeouts + strange.length > 0) {
    throw new Error(
      `${errors} errors, ${timeouts} timeouts, answers ${[...new Set(strange)].join()}`,
    );
  }
  return { times_ms, cpu_us, elapsed_ms };
}

/**
 * Whoever answers a sleeping process pays for waking it: a sixth of a request. A slow server meets
 * sleeping askers more often than a quick one, so the asker sleeps for neither.
 */
function stayAwake(): () => void {
  let turn = setImmediate(function again() {
    turn = setImmediate(again);
  });
  return () => clearImmediate(turn);
}
