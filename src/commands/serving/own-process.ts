import cluster, { type Worker } from "node:cluster";
import type { ShareNumbers } from "../../compose/open-metrics.ts";
import type { Numbers } from "../../metrics/sum-processes.ts";
import type { Announcement } from "./announcement.ts";

/** One process of several, as it knows of the one that started it. */
export type OwnProcess = {
  /** Never given to another one of them, not even to the one that takes its place. */
  readonly id: number;
  /** Whether another one was there first, and has made what there was to be made. */
  readonly isJoining: boolean;
  /** Resolves when all of them are to stop. */
  readonly stopped: Promise<void>;
  readonly announce: (announcement: Announcement) => void;
  readonly shareNumbers: ShareNumbers;
  /** Nothing is heard of the others from here on, so that this process can end. */
  readonly leave: () => void;
};

/** It is no signal, for a second one of those ends a process at once. */
export const stop = "stop";

/** All that is said to a process. */
export type Told =
  | typeof stop
  /** It is to say its own numbers. */
  | { readonly kind: "count" }
  /** What it has asked for. */
  | { readonly kind: "sums"; readonly scrape: number; readonly text: string };

/** All that a process says. */
export type Said =
  | { readonly kind: "ready"; readonly announcement: Announcement }
  /** Somebody asks it for the numbers of all. */
  | { readonly kind: "scrape"; readonly scrape: number }
  | { readonly kind: "numbers"; readonly numbers: Numbers };

/** Longer than the one that started it waits for the others. */
const longestScrape_ms = 3000;

/** Undefined in the process that starts the others. */
export function findOwnProcess(): OwnProcess | undefined {
  const { worker } = cluster;
  if (worker === undefined) return undefined;
  const say = (said: Said) => worker.send(said);
  return {
    id: worker.id,
    isJoining: worker.id > 1,
    stopped: new Promise((resolve) => {
      listen((told) => {
        if (told === stop) resolve();
      });
    }),
    announce: (announcement) => say({ kind: "ready", announcement }),
    shareNumbers: (readOwn) => shareNumbers(worker, readOwn),
    leave: () => worker.disconnect(),
  };
}

function shareNumbers(worker: Worker, readOwn: () => Promise<Numbers>): () => Promise<string> {
  const waiting = new Map<number, (text: string) => void>();
  let scrapes = 0;
  // Whoever has ended meanwhile asks no more.
  const say = (said: Said) => worker.send(said, () => undefined);
  listen((told) => {
    if (told === stop) return;
    if (told.kind === "sums") waiting.get(told.scrape)?.(told.text);
    else void readOwn().then((numbers) => say({ kind: "numbers", numbers }));
  });
  return async () => {
    scrapes += 1;
    const scrape = scrapes;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<string>((resolve, reject) => {
        const fail = () => reject(new Error("the process that started this one says no numbers"));
        timer = setTimeout(fail, longestScrape_ms);
        waiting.set(scrape, resolve);
        say({ kind: "scrape", scrape });
      });
    } finally {
      clearTimeout(timer);
      waiting.delete(scrape);
    }
  };
}

function listen(hear: (told: Told) => void): void {
  // Nobody else writes there than the process that started this one.
  process.on("message", (message) => hear(message as Told));
}
