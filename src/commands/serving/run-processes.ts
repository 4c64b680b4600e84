import cluster, { type Worker } from "node:cluster";
import { setTimeout } from "node:timers/promises";
import { hasLocalLinks } from "../../compose/addresses.ts";
import { closeListener, createHttpServer } from "../../compose/http-server.ts";
import { listenOnBoth } from "../../compose/listen-on-both.ts";
import { createReport, type Log } from "../../compose/log.ts";
import type { Config } from "../../config.ts";
import type { Announcement } from "./announcement.ts";
import { createScrapes, type Scrapes } from "./answer-scrapes.ts";
import { stop, type Said } from "./own-process.ts";

/**
 * Several processes behind one port. This one starts them, shares its port with them and puts
 * another in the place of one that dies; it has no store and answers nobody itself.
 */

type Options = {
  readonly config: Config;
  readonly announce: (announcement: Announcement) => void;
  readonly log: Log;
  /** Resolves when all of them are to stop. */
  readonly stopped: Promise<unknown>;
};

/** Who dies of its start would do so again at once. */
const firstWait_ms = 500;
const longestWait_ms = 30_000;

/** Answers the exit code. */
export async function runProcesses({ config, announce, log, stopped }: Options): Promise<number> {
  const life = new AbortController();
  void stopped.then(() => life.abort());
  const port = await choosePort(config);
  const scrapes = createScrapes(createReport(log));
  // Each takes connections itself, from one queue. Handed over by this one, some would be on their
  // way to a process that has just been killed, and nobody would answer them.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  // As this process was started, for a start.
  cluster.setupPrimary();
  cluster.setupPrimary({ args: [...(cluster.settings.args ?? []), "--port", `${port}`] });
  // It makes what there is to be made, and what it cannot do no other can.
  const start = () => startProcess(life.signal, scrapes);
  const first = start();
  const announcement = await first.ready;
  if (announcement === undefined) return (await first.ended).code ?? 1;
  const others = Array.from({ length: config.processes - 1 }, start);
  await Promise.all(others.map(({ ready }) => ready));
  announce(announcement);
  await Promise.all([first, ...others].map((each) => keepRunning(each, start, log, life.signal)));
  return 0;
}

type Started = {
  readonly worker: Worker;
  /** Undefined where it ends before. */
  readonly ready: Promise<Announcement | undefined>;
  readonly ended: Promise<Ending>;
};

type Ending = { readonly code: number | null; readonly signal: string | null };

function startProcess(signal: AbortSignal, scrapes: Scrapes): Started {
  const worker = cluster.fork();
  // One that has just ended needs not be told.
  const end = () => worker.isConnected() && worker.send(stop, () => undefined);
  signal.addEventListener("abort", end);
  // What was said to it before it listened is lost, and it listens by the time that it is ready.
  worker.on("message", () => signal.aborted && end());
  // What could not be said to it, its end tells.
  worker.on("error", () => undefined);
  const ended = new Promise<Ending>((resolve) => {
    worker.once("exit", (code, by) => {
      signal.removeEventListener("abort", end);
      resolve({ code, signal: by });
    });
  });
  const announced = new Promise<Announcement>((resolve) => {
    worker.on("message", (said: Said) => {
      if (said.kind === "ready") resolve(said.announcement);
    });
  });
  scrapes.follow(worker);
  const ready = Promise.race([announced, ended.then(() => undefined)]);
  return { worker, ready, ended };
}

/** Until all are to stop. */
async function keepRunning(
  started: Started,
  start: () => Started,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let current = started;
  let failures = 0;
  for (;;) {
    const { worker, ready, ended } = current;
    const end = await ended;
    if (signal.aborted) return;
    failures = (await ready) === undefined ? failures + 1 : 0;
    const wait_ms = failures < 1 ? 0 : Math.min(firstWait_ms * 2 ** (failures - 1), longestWait_ms);
    const { id, process } = worker;
    const facts = { process: id, pid: process.pid, ...end, wait_ms };
    log.warn(facts, "process ended, another one takes its place");
    await setTimeout(wait_ms, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    current = start();
  }
}

/** Each must ask for the port by its number: only then do those that are started later share it. */
async function choosePort(config: Config): Promise<number> {
  const { host, port } = config;
  if (port !== 0) return port;
  const server = createHttpServer();
  const free = await listenOnBoth(server, { host, port, hasLocalLinks: hasLocalLinks(config) });
  await Promise.all([server, ...server.twins].map(closeListener));
  return free;
}
