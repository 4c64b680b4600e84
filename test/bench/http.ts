import autocannon from "autocannon";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Agent, request as sendRequest } from "node:http";
import { createInterface } from "node:readline";
import type { Sample } from "./measure.ts";
import { readPeak_mb } from "./threads.ts";

/** Servers as processes of their own, and two ways to ask them: one by one, and many at once. */

export type Server = {
  readonly url: string;
  /** The processor time that the process has used so far. */
  readonly readCpu_us: () => Promise<number>;
  /** What the process holds once everything that it does not need is thrown away. */
  readonly readMemory_mb: () => Promise<number>;
  /** The most memory that the process has ever held. */
  readonly readPeak_mb: () => number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type Question = {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** A body that is written already. */
  readonly text?: string;
};

export type Answer = {
  readonly status: number;
  /** Without those that Node's own server adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

/** Runs in the server's process, and tells what that has used. */
const reporter = `
  import { setFlagsFromString } from "node:v8";
  import { runInNewContext } from "node:vm";
  const measures = {
    cpu() {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
    memory() {
      setFlagsFromString("--expose-gc");
      runInNewContext("gc")();
      const { heapUsed, external } = process.memoryUsage();
      return (heapUsed + external) / 1e6;
    },
  };
  process.on("message", (name) => process.send(measures[name]()));
  process.channel.unref();
`;

/** Starts a script that prints one line of JSON with its `url` when it is ready. */
export async function startServer(words: readonly string[]): Promise<Server> {
  const preload = `data:text/javascript,${encodeURIComponent(reporter)}`;
  const child = spawn(process.execPath, ["--import", preload, ...words], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  const { url } = JSON.parse(await readFirstLine(child)) as { url: string };
  const read = async (measure: "cpu" | "memory"): Promise<number> => {
    const answered = once(child, "message");
    child.send(measure);
    const [value] = (await answered) as [number];
    return value;
  };
  return {
    url,
    readCpu_us: () => read("cpu"),
    readMemory_mb: () => read("memory"),
    readPeak_mb: () => readPeak_mb(child.pid) ?? Number.NaN,
    [Symbol.asyncDispose]: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function readFirstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) throw new Error("a server has no stdout");
  for await (const line of createInterface(stdout)) return line;
  throw new Error("a server ended before it was ready");
}

const agent = new Agent({ keepAlive: true });

/** Asks once and waits for the whole answer. */
export async function ask(server: Pick<Server, "url">, question: Question): Promise<Answer> {
  const { method, path, headers, body } = spell(question);
  const sent = sendRequest(server.url + path, { method, headers, agent });
  sent.end(body);
  const [response] = await once(sent, "response");
  let text = "";
  response.setEncoding("utf8");
  for await (const chunk of response) text += chunk;
  const { date: _, connection: __, "keep-alive": ___, ...own } = response.headers;
  return { status: response.statusCode, headers: own, body: text };
}

export type Barrage = {
  /** How long, or how many. */
  readonly seconds?: number;
  readonly requests?: number;
  /** What every answer must be; anything else ends the bench. */
  readonly status: number;
  /** What each connection asks in turns, or what makes a new question for each request. */
  readonly questions: readonly Question[] | (() => Question);
};

type Faults = { readonly errors: number; readonly timeouts: number };

const connections = 10;

/** Asks on all connections at once for some seconds. */
export async function fire(
  server: Server,
  { seconds, requests: amount, status, questions }: Barrage,
): Promise<Sample> {
  const times_ms: number[] = [];
  const strange: number[] = [];
  const note = (code: number, time_ms: number) => {
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
    const extent = amount === undefined ? { duration: seconds ?? 1 } : { amount };
    autocannon({ url: server.url, connections, ...extent, requests }, (error, result) =>
      error === null ? resolve(result) : reject(error),
    ).on("response", (_client, code: number, _bytes, time_ms: number) => note(code, time_ms));
  });
  fallAsleep();
  const elapsed_ms = performance.now() - started;
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

/** A question as it goes over the wire. */
function spell(question: Question) {
  const { method = "GET", path, token, headers, body, text } = question;
  return {
    method,
    path,
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Token ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(text !== undefined && { body: text }),
  };
}
