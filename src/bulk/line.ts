import { LineBusy, throwIfCancelled, WorkCancelled } from "./bulk-errors.ts";

/**
 * Who may read and compare many links at the same time, and who waits in line for it: each takes
 * memory that all keys share, so one key must not take all of it, nor all places in the line.
 */

export type Line = {
  /** Does the work when its turn has come; in vain where that takes too long. */
  readonly run: <Result>(
    keyPrint: string,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ) => Promise<Result>;
};

type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

type Waiter = {
  readonly keyPrint: string;
  readonly begin: () => void;
  readonly refuse: (failure: Error) => void;
};

const mostOfKey = 2;
const mostOfAll = 4;
const mostWaiting = 20;
const mostWait_ms = 30_000;

export function createLine(sleep: Sleep): Line {
  /** How many are at work, by their key. */
  const working = new Map<string, number>();
  /** Whoever came first stands first. */
  const waiting = new Set<Waiter>();
  const countOf = (keyPrint: string) => working.get(keyPrint) ?? 0;

  return {
    run: async (keyPrint, signal, work) => {
      throwIfCancelled(signal);
      if (mayBegin(keyPrint)) note(keyPrint, 1);
      else await waitForTurn(keyPrint, signal);
      try {
        return await work();
      } finally {
        end(keyPrint);
      }
    },
  };

  /** Nobody is overtaken: of a key that may begin nobody waits. */
  function mayBegin(keyPrint: string): boolean {
    return sum(working.values()) < mostOfAll && countOf(keyPrint) < mostOfKey;
  }

  function note(keyPrint: string, more: 1 | -1): void {
    const count = countOf(keyPrint) + more;
    if (count > 0) working.set(keyPrint, count);
    else working.delete(keyPrint);
  }

  function end(keyPrint: string): void {
    note(keyPrint, -1);
    // Of the keys that have least at work, whoever waits longest.
    const least = [...waiting].toSorted((a, b) => countOf(a.keyPrint) - countOf(b.keyPrint));
    for (const next of least) if (mayBegin(next.keyPrint)) next.begin();
  }

  function waitForTurn(keyPrint: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const over = new AbortController();
      const leave = (settle: () => void) => {
        // A wait that is over may be told so once more.
        if (!waiting.delete(waiter)) return;
        signal.removeEventListener("abort", cancel);
        over.abort();
        settle();
      };
      const refuse = (failure: Error) => leave(() => reject(failure));
      const begin = () => {
        note(keyPrint, 1);
        leave(resolve);
      };
      const waiter: Waiter = { keyPrint, begin, refuse };
      const cancel = () => refuse(new WorkCancelled());
      waiting.add(waiter);
      signal.addEventListener("abort", cancel);
      sleep(mostWait_ms, over.signal).then(
        () => refuse(new LineBusy(mostWait_ms)),
        // It was broken off, because the wait was over before it.
        () => undefined,
      );
      findSurplus(waiting, waiter)?.refuse(new LineBusy(mostWait_ms));
    });
  }
}

/** The last of the key that has the most in line: the newcomer, unless another has more. */
function findSurplus(waiting: ReadonlySet<Waiter>, newcomer: Waiter): Waiter | undefined {
  if (waiting.size <= mostWaiting) return undefined;
  const all = [...waiting];
  const count = (of: Waiter) => all.filter(({ keyPrint }) => keyPrint === of.keyPrint).length;
  const most = Math.max(...all.map(count));
  if (count(newcomer) === most) return newcomer;
  return all.findLast((waiter) => count(waiter) === most) ?? newcomer;
}

function sum(counts: Iterable<number>): number {
  return [...counts].reduce((all, count) => all + count, 0);
}
