import { createRing } from "../ring.ts";
import type { Server } from "../servers/http-server.ts";
import type { Question } from "./ask.ts";
import { openConnection, writeRequest, type Connection } from "./connection.ts";
import type { Sample } from "./measure.ts";

/** So many connections, each of which asks again as soon as it was answered. */
export type Barrage = {
  readonly connections?: number;
  /** How many in all. */
  readonly requests: number;
  /** What every answer must be; anything else ends the bench. */
  readonly status: number;
  /** What is asked in turns, or what makes a new question for each request. */
  readonly questions: readonly Question[] | (() => Question);
};

export async function fire(
  { url, readCpu_us }: Pick<Server, "url" | "readCpu_us">,
  { connections = 10, requests, status, questions }: Barrage,
): Promise<Sample> {
  const next =
    typeof questions === "function"
      ? () => writeRequest(questions(), url)
      : createRing(questions.map((question) => writeRequest(question, url)));
  const opened = await openAll(url, connections);
  const times_ms: number[] = [];
  let left = requests;
  const work = async ({ ask }: Connection) => {
    while (left > 0) {
      left -= 1;
      const request = next();
      const asked = performance.now();
      const said = await ask(request);
      if (said !== status) throw new Error(`an answer was ${said}, and not ${status}`);
      times_ms.push(performance.now() - asked);
    }
  };
  const cpuBefore_us = readCpu_us();
  const fallAsleep = stayAwake();
  const started = performance.now();
  try {
    await Promise.all(opened.map(work));
  } finally {
    fallAsleep();
    for (const { close } of opened) close();
  }
  const elapsed_ms = performance.now() - started;
  return { times_ms, cpu_us: readCpu_us() - cpuBefore_us, elapsed_ms };
}

function openAll(url: string, count: number): Promise<readonly Connection[]> {
  return Promise.all(Array.from({ length: count }, () => openConnection(url)));
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
