import { LineBusy, throwIfCancelled, WorkCancelled } from "./bulk-errors.ts";

/** To read and compare many links takes memory that all keys share, so that keys take turns. */

export type Line = {
  /** Does the work when its turn has come; fails where that takes too long. */
  readonly run: <Result>(
    keyPrint: string,
    signal: AbortSignal,
    work: () => Promise<Result>,
  ) => Promise<Result>;
};

type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;
type Waiter = { readonly keyPrint: string; readonly begin: () => void };

const mostOfKey = 2;
const mostOfAll = 4;
const mostWaiting = 20;
const mostWait_ms = 30_000;

export function createLine(sleep: Sleep): Line {
  /** The keys of the works that have begun. */
  const working: string[] = [];
  const waiting = new Set<Waiter>();
  const countOf = (keyPrint: string) => working.filter((each) => each === keyPrint).length;
  const mayBegin = (keyPrint: string) =>
    working.length < mostOfAll && countOf(keyPrint) < mostOfKey;

  return {
    run: async (keyPrint, signal, work) => {
      throwIfCancelled(signal);
      if (mayBegin(keyPrint)) working.push(keyPrint);
      else await waitForTurn(keyPrint, signal);
      try {
        return await work();
      } finally {
        working.splice(working.indexOf(keyPrint), 1);
        beginNext();
      }
    },
  };

  /** Of the keys that have least at work, whoever waits longest. */
  function beginNext(): void {
    const least = [...waiting].toSorted((a, b) => countOf(a.keyPrint) - countOf(b.keyPrint));
    least.find(({ keyPrint }) => mayBegin(keyPrint))?.begin();
  }

  async function waitForTurn(keyPrint: string, signal: AbortSignal): Promise<void> {
    if (waiting.size >= mostWaiting) throw new LineBusy(mostWait_ms);
    const over = new AbortController();
    await new Promise<void>((resolve, reject) => {
      const leave = (settle: () => void) => {
        // Only the first of a turn, a cancellation and the end of the time counts.
        if (!waiting.delete(waiter)) return;
        signal.removeEventListener("abort", cancel);
        over.abort();
        settle();
      };
      const begin = () => {
        working.push(keyPrint);
        leave(resolve);
      };
      const cancel = () => leave(() => reject(new WorkCancelled()));
      const waiter: Waiter = { keyPrint, begin };
      waiting.add(waiter);
      signal.addEventListener("abort", cancel);
      sleep(mostWait_ms, over.signal).then(
        () => leave(() => reject(new LineBusy(mostWait_ms))),
        // It was broken off, because the wait was over before it.
        () => undefined,
      );
    });
  }
}
