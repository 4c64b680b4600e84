import { StoreBusy } from "./faults.ts";
import type { ReadSignal } from "./sql.ts";

/**
 * Runs a bounded number of works at a time. Those of one line wait for each other, and lines take
 * turns: a project with many long reads does not keep the others waiting.
 */
export type FairTurns = {
  /** Rejects at once when the caller leaves. A work that has begun keeps its turn to its end. */
  readonly run: <Result>(
    work: () => Promise<Result>,
    options: { readonly line: string; readonly signal?: ReadSignal },
  ) => Promise<Result>;
  /** Refuses everything that comes later. Resolves when every work that waited or ran has ended. */
  readonly finish: () => Promise<void>;
  /** Drops the works that wait, and answers no caller of one that runs. */
  readonly refuseAll: () => void;
};

type Begin = () => Promise<void>;

export function createFairTurns(most: number, mostWaitingInLine = Infinity): FairTurns {
  const lines = new Map<string, Begin[]>();
  const callers = new Set<(error: StoreBusy) => void>();
  const running = new Set<Promise<void>>();
  let isOver = false;

  function beginNext(): void {
    while (running.size < most) {
      const next = takeNext(lines);
      if (next === undefined) return;
      const ended = next().finally(() => {
        running.delete(ended);
        beginNext();
      });
      running.add(ended);
    }
  }

  return {
    run: <Result>(
      work: () => Promise<Result>,
      { line, signal }: { readonly line: string; readonly signal?: ReadSignal },
    ) =>
      new Promise<Result>((resolve, reject) => {
        const own = lines.get(line) ?? [];
        if (isOver || signal?.hasLeft() === true || own.length >= mostWaitingInLine) {
          throw new StoreBusy("the store is closed, too many wait, or the caller has left");
        }
        const begin = () =>
          work()
            .then(resolve, reject)
            .finally(() => callers.delete(reject));
        own.push(begin);
        lines.set(line, own);
        callers.add(reject);
        signal?.onAbort(() => {
          if (own.includes(begin)) own.splice(own.indexOf(begin), 1);
          reject(new StoreBusy("the caller has left"));
        });
        beginNext();
      }),
    finish: async () => {
      isOver = true;
      while (running.size > 0) await Promise.all(running);
    },
    refuseAll: () => {
      isOver = true;
      lines.clear();
      for (const refuse of callers) refuse(new StoreBusy("the store is closed"));
    },
  };
}

/** Takes the first of the line whose turn it is, and puts that line last. */
function takeNext(lines: Map<string, Begin[]>): Begin | undefined {
  for (const [line, waiting] of lines) {
    lines.delete(line);
    const first = waiting.shift();
    if (waiting.length > 0) lines.set(line, waiting);
    if (first !== undefined) return first;
  }
  return undefined;
}
