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
  /** Refuses also what waits. */
  readonly refuseWaiting: () => void;
};

type Turn = { readonly begin: () => Promise<void>; readonly refuse: () => void };

export function createFairTurns(most: number, mostWaitingInLine = Infinity): FairTurns {
  const lines = new Map<string, Turn[]>();
  const running = new Set<Promise<void>>();
  let isOver = false;

  function beginNext(): void {
    const next = running.size < most ? takeNext(lines) : undefined;
    if (next === undefined) return;
    const ended = next.begin().finally(() => {
      running.delete(ended);
      beginNext();
    });
    running.add(ended);
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
        const turn = { begin: () => work().then(resolve, reject), refuse };
        own.push(turn);
        lines.set(line, own);
        signal?.onAbort(() => {
          if (own.includes(turn)) own.splice(own.indexOf(turn), 1);
          refuse();
        });
        beginNext();
      }),
    finish: async () => {
      isOver = true;
      while (running.size > 0) await Promise.all(running);
    },
    refuseWaiting: () => {
      isOver = true;
      for (const { refuse } of [...lines.values()].flat()) refuse();
      lines.clear();
    },
  };
}

/** Takes the first of the line whose turn it is, and puts that line last. */
function takeNext(lines: Map<string, Turn[]>): Turn | undefined {
  for (const [line, waiting] of lines) {
    lines.delete(line);
    const first = waiting.shift();
    if (waiting.length > 0) lines.set(line, waiting);
    if (first !== undefined) return first;
  }
  return undefined;
}
