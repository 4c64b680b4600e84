import { Agent } from "node:http";
import { setTimeout } from "node:timers/promises";
import { pickTurn } from "../ring.ts";
import { ask, type Question } from "./ask.ts";

/**
 * Requests at a fixed rate, whether or not earlier ones were answered, and the time of each from
 * the moment at which it was due: who waits in a line, or for a server that stands still, counts
 * with all of the waiting. Beside them, callers who ask again as soon as they were answered.
 */

export type Order = {
  readonly url: string;
  readonly seconds: number;
  readonly streams: readonly Stream[];
};

export type Stream = {
  readonly name: string;
  readonly questions: readonly Question[];
  /** What every answer should be. */
  readonly status: number;
} & (
  | { readonly per_second: number }
  /** So many callers; each asks its own of the questions in turns. */
  | { readonly callers: number }
);

export type Heard = {
  readonly times_ms: readonly number[];
  /** How much later than due the requests were sent, which is the load's own fault. */
  readonly late_ms: readonly number[];
  /** Answers that were others, and what came instead of one, after how long. */
  readonly strange: readonly { readonly said: string; readonly time_ms: number }[];
};

export type HeardAll = Readonly<Record<string, Heard>>;

/** A connection that is never answered must not hold the bench for ever. */
const longest_ms = 60_000;

export async function runStreams({ url, seconds, streams }: Order): Promise<HeardAll> {
  // What is due is sent, so connections are never what it waits for.
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, timeout: longest_ms });
  const runs = streams.map(async (stream): Promise<readonly [string, Heard]> => {
    const { name, questions, status } = stream;
    const notes: Notes = { times_ms: [], late_ms: [], strange: [] };
    const send = (index: number, due: number) => {
      return note(notes, { url, agent, due, status, question: pickTurn(questions, index) });
    };
    if ("per_second" in stream) {
      await sendOnSchedule(send, { count: Math.round(stream.per_second * seconds), ...stream });
    } else {
      await keepCalling(send, { callers: stream.callers, seconds });
    }
    return [name, notes];
  });
  try {
    return Object.fromEntries(await Promise.all(runs));
  } finally {
    agent.destroy();
  }
}

type Notes = {
  readonly times_ms: number[];
  readonly late_ms: number[];
  readonly strange: { readonly said: string; readonly time_ms: number }[];
};

type Send = (index: number, due: number) => Promise<void>;

async function sendOnSchedule(
  send: Send,
  { count, per_second }: { readonly count: number; readonly per_second: number },
): Promise<void> {
  const began = performance.now();
  const answers: Promise<void>[] = [];
  while (answers.length < count) {
    const due = began + (answers.length * 1000) / per_second;
    const wait_ms = due - performance.now();
    if (wait_ms > 0) await setTimeout(wait_ms);
    else answers.push(send(answers.length, due));
  }
  await Promise.all(answers);
}

async function keepCalling(
  send: Send,
  { callers, seconds }: { readonly callers: number; readonly seconds: number },
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const call = async (_: unknown, caller: number) => {
    for (let turn = caller; performance.now() < end; turn += callers) {
      await send(turn, performance.now());
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
}

type Sending = {
  readonly url: string;
  readonly agent: Agent;
  readonly question: Question;
  readonly due: number;
  readonly status: number;
};

async function note(notes: Notes, { url, agent, question, due, status }: Sending): Promise<void> {
  notes.late_ms.push(performance.now() - due);
  const strange = (said: string) => {
    notes.strange.push({ said, time_ms: performance.now() - due });
  };
  try {
    const answer = await ask({ url }, question, agent);
    const isWell = answer.status === status && !answer.body.includes('"isError":true');
    if (isWell) notes.times_ms.push(performance.now() - due);
    else strange(`${answer.status} ${answer.body.slice(0, 200)}`);
  } catch (error) {
    strange(String(error));
  }
}
