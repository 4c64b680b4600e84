import { once } from "node:events";
import { connect } from "node:net";
import { createRing } from "../ring.ts";
import type { Server } from "../servers/http-server.ts";
import type { Question } from "./ask.ts";
import { writeRequest } from "./connection.ts";

/**
 * A load that leaves the cores of a small machine to the servers: each connection asks several
 * questions in one message, and of the answers only the statuses are read. How long one takes is
 * not told, for it waits for those that were asked before it.
 */
type Flood = {
  readonly connections: number;
  /** How many questions one message has. */
  readonly together: number;
  /** At least so many in all. */
  readonly requests: number;
  /** What every answer must be; anything else ends the bench. */
  readonly status: number;
  /** What is asked in turns. */
  readonly questions: readonly Question[];
};

export type Flooded = {
  readonly per_second: number;
  /** Processor time of all servers, for each request. */
  readonly cpu_us: number;
  /** So much of a core the load has used itself. */
  readonly load_cores: number;
};

export async function flood(
  { url, readCpu_us }: Pick<Server, "url" | "readCpu_us">,
  { connections, together, requests, status, questions }: Flood,
): Promise<Flooded> {
  const next = createRing(writeMessages(questions, together, url));
  const opened = await Promise.all(Array.from({ length: connections }, () => openPipe(url)));
  let asked = 0;
  const work = async ({ ask }: Pipe) => {
    while (asked < requests) {
      asked += together;
      await ask(next(), { count: together, status });
    }
  };
  const cpuBefore_us = await readCpu_us();
  const usedBefore_us = readUsed_us();
  const started = performance.now();
  try {
    await Promise.all(opened.map(work));
  } finally {
    for (const { close } of opened) close();
  }
  const elapsed_ms = performance.now() - started;
  const used_us = readUsed_us() - usedBefore_us;
  return {
    per_second: (asked * 1000) / elapsed_ms,
    cpu_us: ((await readCpu_us()) - cpuBefore_us) / asked,
    load_cores: used_us / (elapsed_ms * 1000),
  };
}

/** Each message has as many, and goes on where the one before it ended: all are asked as often. */
function writeMessages(
  questions: readonly Question[],
  together: number,
  url: string,
): readonly Buffer[] {
  const next = createRing(questions.map((question) => writeRequest(question, url)));
  return questions.map(() => Buffer.from(Array.from({ length: together }, () => next()).join("")));
}

type Pipe = {
  readonly ask: (message: Buffer, wanted: Wanted) => Promise<void>;
  readonly close: () => void;
};

type Wanted = { readonly count: number; readonly status: number };

/** What every answer begins with, before its status. */
const head = Buffer.from("HTTP/1.1 ");
const headAndStatus = head.length + "200".length;

/** A connection that never answers must not hold the bench for ever. */
const longest_ms = 60_000;

async function openPipe(url: string): Promise<Pipe> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let rest: Buffer = Buffer.alloc(0);
  let waiting: Waiting | undefined;
  const end = (error?: Error) => {
    const [ended, told] = [waiting, error];
    waiting = undefined;
    if (told === undefined) ended?.resolve();
    else ended?.reject(told);
  };
  socket.on("data", (chunk: Buffer) => {
    const found = readStatuses(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]));
    rest = found.rest;
    if (waiting === undefined) return;
    const { status } = waiting;
    const other = found.statuses.find((said) => said !== status);
    if (other !== undefined) end(new Error(`an answer was ${other}, and not ${status}`));
    else if ((waiting.left -= found.statuses.length) <= 0) end();
  });
  socket.on("error", end);
  socket.on("close", () => end(new Error("the server closed a connection")));
  socket.setTimeout(longest_ms, () => socket.destroy(new Error("there was no answer")));
  return {
    ask: (message, { count, status }) =>
      new Promise((resolve, reject) => {
        waiting = { left: count, status, resolve, reject };
        socket.write(message);
      }),
    close: () => socket.destroy(),
  };
}

type Waiting = {
  left: number;
  readonly status: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
};

type Statuses = {
  readonly statuses: readonly number[];
  /** What may be the beginning of the next head. */
  readonly rest: Buffer;
};

function readStatuses(bytes: Buffer): Statuses {
  const statuses: number[] = [];
  let from = 0;
  for (;;) {
    const at = bytes.indexOf(head, from);
    if (at === -1) {
      return { statuses, rest: bytes.subarray(Math.max(from, bytes.length - head.length + 1)) };
    }
    if (at + headAndStatus > bytes.length) return { statuses, rest: bytes.subarray(at) };
    statuses.push(Number(bytes.toString("latin1", at + head.length, at + headAndStatus)));
    from = at + headAndStatus;
  }
}

function readUsed_us(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
