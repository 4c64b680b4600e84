import { setImmediate, setTimeout } from "node:timers/promises";

/**
 * Time in which nobody waits: when everything that runs waits for the clock, the clock moves to
 * whoever is due next. Real work (a database, the service) takes none of it, and one piece of it
 * is done after another, so that all that happens happens in one order.
 */
export type VirtualTime = {
  /** Milliseconds since it began. */
  readonly elapsed: () => number;
  /** Rings once, after that time; what comes back stops it. */
  readonly setTimer: (ring: () => void, milliseconds: number) => () => void;
  readonly sleep: (milliseconds: number, signal?: AbortSignal) => Promise<void>;
  readonly perform: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Lets time pass until the promise is settled. */
  readonly drive: <Result>(awaited: Promise<Result>) => Promise<Result>;
  /** Lets time pass until nobody waits for it any more. */
  readonly drain: () => Promise<void>;
};

type Advance = (milliseconds: number) => void;
/** Whether an answer is on its way that takes real time, and goes on with somebody. */
type IsBusy = () => boolean;

/** What runs waits for something that will never come, or goes on for ever. */
class Standstill extends Error {
  override readonly name = "Standstill";
}

type Sleeper = { readonly at: number; readonly ring: () => void };

/** Who gives others a turn goes on in the next one; so many in a row and more are nobody's. */
const idleTurns = 4;
const mostIdleTurns = 200;
const mostRealWaits = 1000;
/** No run of a job takes a working day. */
const longest_ms = 8 * 60 * 60_000;

export function createVirtualTime(advance: Advance, isBusy: IsBusy = () => false): VirtualTime {
  const sleepers = new Set<Sleeper>();
  let elapsed = 0;
  let inHand = 0;
  let last: Promise<unknown> = Promise.resolve();

  function setTimer(ring: () => void, milliseconds: number): () => void {
    // Clocks are read in whole milliseconds, as a timer of the runtime rings.
    const sleeper = { at: elapsed + Math.max(0, Math.ceil(milliseconds)), ring };
    sleepers.add(sleeper);
    return () => sleepers.delete(sleeper);
  }

  /** A turn of the event loop comes when no promise is left that could go on without one. */
  async function settle(isWanted: () => boolean): Promise<void> {
    // Where nobody waits for the clock, somebody may just be giving many turns.
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
    if (elapsed > longest_ms) throw new Standstill("it does not come to an end");
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

/** Writers leave other processes an opening, and wait out a lock, by the machine's own clock. */
async function requireSoon(isThere: () => boolean): Promise<void> {
  for (let waits = 0; !isThere(); waits += 1) {
    if (waits === mostRealWaits) throw new Standstill("everybody waits, and nobody for the clock");
    await setTimeout(1);
  }
}

/** Whoever came first among those who are due first. */
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
      reject(new Error("the sleep was broken off"));
      return;
    }
    const stop = setTimer(() => {
      signal?.removeEventListener("abort", wake);
      resolve();
    }, milliseconds);
    const wake = () => {
      stop();
      reject(new Error("the sleep was broken off"));
    };
    signal?.addEventListener("abort", wake, { once: true });
  });
}
