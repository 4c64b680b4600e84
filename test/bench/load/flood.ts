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
  /** So many before any is counted, over the same connections. */
  readonly warming: number;
  /** So many are counted. */
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
  { connections, together, warming, requests, status, questions }: Flood,
): Promise<Flooded> {
  const next = createRing(writeMessages(questions, together, url));
  const lines: Line[] = Array.from({ length: connections }, () => ({ pipe: undefined }));
  let asked = 0;
  const work = async (line: Line, count: number) => {
    while (asked < count) {
      asked += together;
      line.pipe ??= await openPipe(url);
      const answered = await line.pipe.ask(next(), { count: together, status });
      asked -= together - answered.count;
      if (answered.isOver) line.pipe = undefined;
    }
  };
  const askAll = async (count: number) => {
    asked = 0;
    await Promise.all(lines.map((line) => work(line, count)));
  };
  try {
    await askAll(warming);
    const cpuBefore_us = await readCpu_us();
    const usedBefore_us = readUsed_us();
    const started = performance.now();
    await askAll(requests);
    const elapsed_ms = performance.now() - started;
    const used_us = readUsed_us() - usedBefore_us;
    return {
      per_second: (asked * 1000) / elapsed_ms,
      cpu_us: ((await readCpu_us()) - cpuBefore_us) / asked,
      load_cores: used_us / (elapsed_ms * 1000),
    };
  } finally {
    for (const { pipe } of lines) pipe?.close();
  }
}

/** A connection, and after its end the next one. */
type Line = { pipe: Pipe | undefined };

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
  readonly ask: (message: Buffer, wanted: Wanted) => Promise<Answered>;
  readonly close: () => void;
};

type Wanted = { readonly count: number; readonly status: number };

/** Where the server ends the connection, what it has not answered by then is not answered there. */
type Answered = { readonly count: number; readonly isOver: boolean };

/** What every answer begins with, before its status. */
const head = Buffer.from("HTTP/1.1 ");
const last = Buffer.from("\r\nConnection: close\r\n");
const headAndStatus = head.length + "200".length;

/** A connection that never answers must not hold the bench for ever. */
const longest_ms = 60_000;

async function openPipe(url: string): Promise<Pipe> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, "connect");
  let rest: Buffer = Buffer.alloc(0);
  let isOver = false;
  let waiting: Waiting | undefined;
  const tell = (error?: Error) => {
    const { wanted, left, resolve, reject } = waiting ?? {};
    waiting = undefined;
    if (error !== undefined) reject?.(error);
    else resolve?.({ count: (wanted?.count ?? 0) - Math.max(0, left ?? 0), isOver });
  };
  socket.on("data", (chunk: Buffer) => {
    const found = readStatuses(rest.length === 0 ? chunk : Buffer.concat([rest, chunk]));
    rest = found.rest;
    isOver ||= found.isLast;
    if (waiting === undefined) return;
    const { status } = waiting.wanted;
    const other = found.statuses.find((said) => said !== status);
    waiting.left -= found.statuses.length;
    if (other !== undefined) tell(new Error(`an answer was ${other}, and not ${status}`));
    else if (!isOver && waiting.left <= 0) tell();
  });
  socket.on("error", tell);
  socket.on("close", () => tell(isOver ? undefined : new Error("the server closed a connection")));
  socket.setTimeout(longest_ms, () => socket.destroy(new Error("there was no answer")));
  return {
    ask: (message, wanted) =>
      new Promise((resolve, reject) => {
        waiting = { wanted, left: wanted.count, resolve, reject };
        socket.write(message);
      }),
    close: () => socket.destroy(),
  };
}

type Waiting = {
  readonly wanted: Wanted;
  left: number;
  readonly resolve: (answered: Answered) => void;
  readonly reject: (error: Error) => void;
};

type Statuses = {
  readonly statuses: readonly number[];
  /** Whether the server says that it ends the connection. */
  readonly isLast: boolean;
  /** What may be the beginning of the next head, or of that. */
  readonly rest: Buffer;
};

function readStatuses(bytes: Buffer): Statuses {
  const statuses: number[] = [];
  const isLast = bytes.includes(last);
  let from = 0;
  for (;;) {
    const at = bytes.indexOf(head, from);
    if (at === -1) {
      const rest = bytes.subarray(Math.max(from, bytes.length - last.length + 1));
      return { statuses, isLast, rest };
    }
    if (at + headAndStatus > bytes.length) return { statuses, isLast, rest: bytes.subarray(at) };
    statuses.push(Number(bytes.toString("latin1", at + head.length, at + headAndStatus)));
    from = at + headAndStatus;
  }
}

function readUsed_us(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
