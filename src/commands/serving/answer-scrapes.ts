import type { Worker } from "node:cluster";
import type { Numbers, Sums } from "../../metrics/sum-processes.ts";
import type { Said, Told } from "./own-process.ts";

/** Metrics of all processes: whichever of them is asked has them from the one that started them. */
export type Scrapes = {
  /** From its start to its end. */
  readonly follow: (worker: Worker) => void;
};

/** One that hangs keeps nobody waiting for longer: the last that it told counts. */
const answerWithin_ms = 1000;

export function createScrapes(report: (error: unknown) => unknown): Scrapes {
  /** Those that are ready, for others cannot tell anything yet. */
  const ready = new Set<Worker>();
  let sums: Sums | undefined;
  let asking: Promise<string> | undefined;

  async function sumAll(): Promise<string> {
    // Where nobody asks, this process need not load what adds them up.
    const { createSums } = await import("../../metrics/sum-processes.ts");
    const all = (sums ??= createSums());
    const told = await Promise.all([...ready].map((worker) => note(all, worker)));
    const answering = told.filter(Boolean).length;
    return all.write({ answering, silent: ready.size - answering });
  }

  async function answer(worker: Worker, scrape: number): Promise<void> {
    // Who asks meanwhile has the same answer, and the others are not asked once more.
    asking ??= sumAll().finally(() => (asking = undefined));
    const text = await asking;
    tell(worker, { kind: "sums", scrape, text });
  }

  return {
    follow: (worker) => {
      worker.on("message", (said: Said) => {
        if (said.kind === "ready") ready.add(worker);
        if (said.kind === "scrape") answer(worker, said.scrape).catch(report);
      });
      worker.once("exit", () => {
        ready.delete(worker);
        sums?.leave(worker.id);
      });
    },
  };
}

/** Whether the process has told its numbers. */
async function note(sums: Sums, worker: Worker): Promise<boolean> {
  const numbers = await ask(worker);
  if (numbers !== undefined) sums.note(worker.id, numbers);
  return numbers !== undefined;
}

function ask(worker: Worker): Promise<Numbers | undefined> {
  return new Promise((resolve) => {
    const end = (numbers?: Numbers) => {
      clearTimeout(timer);
      worker.off("message", hear).off("exit", leave);
      resolve(numbers);
    };
    const leave = () => end();
    const hear = (said: Said) => {
      if (said.kind === "numbers") end(said.numbers);
    };
    const timer = setTimeout(leave, answerWithin_ms);
    worker.on("message", hear).once("exit", leave);
    tell(worker, { kind: "count" });
  });
}

function tell(worker: Worker, told: Told): void {
  // What could not be said to it, its end tells.
  if (worker.isConnected()) worker.send(told, () => undefined);
}
