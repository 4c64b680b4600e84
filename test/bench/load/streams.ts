import { Agent } from "node:http";
import { setTimeout } from "node:timers/promises";
import { pickTurn } from "../ring.ts";
import { ask, type Question } from "./ask.ts";

/** Sends requests at a fixed rate. Times count from when each was due, with any queueing. */

export type StreamPlan = {
  readonly url: string;
  readonly seconds: number;
  readonly streams: readonly Stream[];
};

export type Stream = {
  readonly name: string;
  readonly questions: readonly Question[];
  readonly status: number;
} & (
  | { readonly per_second: number }
  /** The number of callers; each has its own questions, which it sends in turns. */
  | { readonly callers: number }
);

export type Samples = {
  readonly times_ms: readonly number[];
  /** How late the requests were sent. The bench itself causes this delay. */
  readonly late_ms: readonly number[];
  /** Unexpected responses and errors, with their time. */
  readonly strange: readonly { readonly said: string; readonly time_ms: number }[];
};

export type AllSamples = Readonly<Record<string, Samples>>;

/** A connection without a response must not block the bench forever. */
const longest_ms = 60_000;

export async function runStreams({ url, seconds, streams }: StreamPlan): Promise<AllSamples> {
  // Requests are sent when due, so they must never wait for a free connection.
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity, timeout: longest_ms });
  const runs = streams.map(async (stream): Promise<readonly [string, Samples]> => {
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

type Dispatch = {
  readonly url: string;
  readonly agent: Agent;
  readonly question: Question;
  readonly due: number;
  readonly status: number;
};

async function note(notes: Notes, { url, agent, question, due, status }: Dispatch): Promise<void> {
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
