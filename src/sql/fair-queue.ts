import { StoreBusy } from "./faults.ts";
import type { ReadSignal } from "./sql.ts";

/**
 * Limits how many tasks run at once. Tasks wait in lines, usually one per project. A line runs one
 * task at a time, and lines take turns, so that many long reads of one project do not delay other
 * projects.
 */
export type FairQueue = {
  /** Runs a task. If the caller gives up, the promise rejects, but a started task continues. */
  readonly run: <Result>(
    work: () => Promise<Result>,
    options: { readonly line: string; readonly signal?: ReadSignal },
  ) => Promise<Result>;
  /** Rejects new tasks. Resolves when all accepted tasks have ended. */
  readonly finish: () => Promise<void>;
  /** Rejects new and waiting tasks. */
  readonly refuseWaiting: () => void;
};

type WaitingTask = { readonly begin: () => Promise<void>; readonly refuse: () => void };

export function createFairQueue(most: number, mostWaitingInLine = Infinity): FairQueue {
  const lines = new Map<string, WaitingTask[]>();
  const running = new Map<string, Promise<void>>();
  let isOver = false;

  function beginNext(): void {
    const next = running.size < most ? takeNext(lines, running) : undefined;
    if (next === undefined) return;
    const [line, task] = next;
    const ended = task.begin().finally(() => {
      running.delete(line);
      beginNext();
    });
    running.set(line, ended);
  }

  return {
    run: <Result>(
      work: () => Promise<Result>,
      { line, signal }: { readonly line: string; readonly signal?: ReadSignal },
    ) =>
      new Promise<Result>((resolve, reject) => {
        const own = lines.get(line) ?? [];
        const refuse = () => reject(new StoreBusy("the store is closed, or the caller has left"));
        if (isOver || signal?.hasLeft() === true || own.length >= mostWaitingInLine) {
          refuse();
          return;
        }
        const task = { begin: () => work().then(resolve, reject), refuse };
        own.push(task);
        lines.set(line, own);
        signal?.onAbort(() => {
          if (own.includes(task)) own.splice(own.indexOf(task), 1);
          refuse();
        });
        beginNext();
      }),
    finish: async () => {
      isOver = true;
      while (running.size > 0) await Promise.all(running.values());
    },
    refuseWaiting: () => {
      isOver = true;
      for (const { refuse } of [...lines.values()].flat()) refuse();
      lines.clear();
    },
  };
}

/** Takes a task from the next line that has no running task, and moves that line to the end. */
function takeNext(
  lines: Map<string, WaitingTask[]>,
  running: ReadonlyMap<string, unknown>,
): readonly [string, WaitingTask] | undefined {
  for (const [line, waiting] of lines) {
    if (running.has(line)) continue;
    lines.delete(line);
    const first = waiting.shift();
    if (waiting.length > 0) lines.set(line, waiting);
    if (first !== undefined) return [line, first];
  }
  return undefined;
}
