import { setImmediate, setTimeout } from "node:timers/promises";

/** When all code waits, virtual time jumps to the next sleeper. Real work takes no time. */
export type VirtualTime = {
  readonly elapsed: () => number;
  readonly setTimer: (ring: () => void, milliseconds: number) => () => void;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly perform: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly drive: <Result>(awaited: Promise<Result>) => Promise<Result>;
  readonly drain: () => Promise<void>;
};

type Advance = (milliseconds: number) => void;
/** Whether work is running that takes real time. */
type IsBusy = () => boolean;

/** The code waits for something that never happens, or runs forever. */
class Standstill extends Error {
  override readonly name = "Standstill";
}

type Sleeper = { readonly at: number; readonly ring: () => void };

/** Code that yields continues in the next turn. After this many idle turns nothing is left. */
const idleTurns = 4;
const mostIdleTurns = 200;
const mostRealWaits = 1000;
/** No job takes as long as a working day. */
const longest_ms = 8 * 60 * 60_000;

export function createVirtualTime(advance: Advance, isBusy: IsBusy = () => false): VirtualTime {
  const sleepers = new Set<Sleeper>();
  let elapsed = 0;
  let inHand = 0;
  let last: Promise<unknown> = Promise.resolve();

  function setTimer(ring: () => void, milliseconds: number): () => void {
    // Clocks are read in whole milliseconds, like the timers of the runtime.
    const sleeper = { at: elapsed + Math.max(0, Math.ceil(milliseconds)), ring };
    sleepers.add(sleeper);
    return () => sleepers.delete(sleeper);
  }

  /** The event loop turns once no promise can continue without it. */
  async function settle(isWanted: () => boolean): Promise<void> {
    // If nothing waits for the clock, some code may be yielding many times.
    const isEarly = (turns: number) =>
      turns < (isWanted() && sleepers.size === 0 ? mostIdleTurns : idleTurns);
    for (let turns = 0; isEarly(turns); turns += 1) {
      await last;
      await (isBusy() ? setTimeout(1) : setImmediate());
      if (inHand > 0 || isBusy()) turns = -1;
    }
  }

  function wakeNext(): boolean {
    const next = findNext(sleepers);
    if (next === undefined) return false;
    sleepers.delete(next);
    if (next.at > elapsed) {
      advance(next.at - elapsed);
      elapsed = next.at;
    }
    if (elapsed > longest_ms) throw new Standstill("the code does not end");
    next.ring();
    return true;
  }

  return {
    elapsed: () => elapsed,
    setTimer,
    sleep: (milliseconds, signal) => sleepUntil(setTimer, milliseconds, signal),
    perform: (work) => {
      inHand += 1;
      const result = last.then(work);
      last = result.then(drop, drop);
      return result;

      function drop(): void {
        inHand -= 1;
      }
    },
    drive: async (awaited) => {
      let isSettled = false;
      const end = () => (isSettled = true);
      awaited.then(end, end);
      for (;;) {
        await settle(() => !isSettled);
        if (isSettled) return awaited;
        if (!wakeNext()) await requireSoon(() => isSettled || sleepers.size > 0);
      }
    },
    drain: async () => {
      do await settle(() => false);
      while (wakeNext());
    },
  };
}

/** Waits in real time, as writers use the machine's clock to wait for a lock. */
async function requireSoon(isThere: () => boolean): Promise<void> {
  for (let waits = 0; !isThere(); waits += 1) {
    if (waits === mostRealWaits) throw new Standstill("all code waits, but not for the clock");
    await setTimeout(1);
  }
}

function findNext(sleepers: Iterable<Sleeper>): Sleeper | undefined {
  let next: Sleeper | undefined;
  for (const sleeper of sleepers) if (next === undefined || sleeper.at < next.at) next = sleeper;
  return next;
}

function sleepUntil(
  setTimer: VirtualTime["setTimer"],
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(new Error("the sleep was aborted"));
      return;
    }
    const stop = setTimer(() => {
      signal?.removeEventListener("abort", wake);
      resolve();
    }, milliseconds);
    const wake = () => {
      stop();
      reject(new Error("the sleep was aborted"));
    };
    signal?.addEventListener("abort", wake, { once: true });
  });
}
