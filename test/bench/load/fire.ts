import { createRing } from "../ring.ts";
import type { Server } from "../servers/http-server.ts";
import type { Question } from "./ask.ts";
import { openConnection, writeRequest, type Connection } from "./connection.ts";
import type { Sample } from "./measure.ts";

/** A number of connections that each send the next request right after a response. */
export type RequestLoad = {
  readonly connections?: number;
  readonly requests: number;
  /** The expected status of each response. Any other status ends the bench. */
  readonly status: number;
  /** Requests to send in turns, or a function that creates the next one. */
  readonly questions: readonly Question[] | (() => Question);
};

export async function fire(
  { url, readCpu_us }: Pick<Server, "url" | "readCpu_us">,
  { connections = 10, requests, status, questions }: RequestLoad,
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

/** Waking a sleeping client costs the server a sixth of a request, so the client never sleeps. */
function stayAwake(): () => void {
  let turn = setImmediate(function again() {
    turn = setImmediate(again);
  });
  return () => clearImmediate(turn);
}
