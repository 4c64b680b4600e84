import type { Clock } from "../../contract/clock.ts";
import type { Approval } from "../../state/approvals.ts";
import type { State } from "../../state/state.ts";

/**
 * What became of a page while a call waited; it may still be open when the time is up. Where the
 * key has enough calls that wait, a further one does not.
 */
type Ended = "decided" | "over" | "open" | "unwatched";

/** Resolves when a person has answered an approval's page, in whichever process shows it. */
export type AwaitDecision = (
  id: string,
  wait: {
    readonly key_print: string;
    /** By the monotonic clock. */
    readonly until: number;
    readonly signal: AbortSignal;
    /** Called now and then, with the seconds that have passed. */
    readonly tellWaiting: (seconds: number) => unknown;
  },
) => Promise<Ended>;

type Wait = Parameters<AwaitDecision>[1];
type Status = Approval["status"] | undefined;

type DecisionOptions = {
  readonly openState: () => Promise<Pick<State, "approvals">>;
  readonly clock: Clock;
  /** Rejects as soon as the signal is aborted. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** Who waits for one page: all of them share each look at it. */
type Watch = {
  readonly callers: Set<Caller>;
  /** Aborted when the last of them has left: the state may be closed then. */
  readonly left: AbortController;
};
type Caller = {
  readonly hear: (status: Status) => void;
  readonly fail: (error: unknown) => void;
};

/** A person does not notice so short a time, and a look reads four short columns of one row. */
const lookEvery_ms = 250;
const tellEvery_ms = 10_000;
/** Of one key: each holds a request, and what it would do, in memory. */
const mostWaiting = 20;

export function createAwaitDecision(options: DecisionOptions): AwaitDecision {
  const watchPage = createWatch(options);
  /** How many calls of each key wait. */
  const waiting = new Map<string, number>();
  return async (id, wait) => {
    const { key_print } = wait;
    const others = waiting.get(key_print) ?? 0;
    if (others >= mostWaiting) return "unwatched";
    waiting.set(key_print, others + 1);
    try {
      return await watchPage(id, wait);
    } finally {
      const left = (waiting.get(key_print) ?? 0) - 1;
      if (left > 0) waiting.set(key_print, left);
      else waiting.delete(key_print);
    }
  };
}

function createWatch({ openState, clock, sleep }: DecisionOptions): AwaitDecision {
  const watches = new Map<string, Watch>();
  return (id, wait) =>
    new Promise((resolve, reject) => {
      if (wait.signal.aborted) return resolve("open");
      const watch = watches.get(id) ?? begin(id);
      const hear = createEar(wait);
      const caller: Caller = {
        hear: (status) => {
          const ended = hear(status);
          if (ended !== undefined) end(ended);
        },
        fail: (error) => {
          leave();
          reject(error);
        },
      };
      const abandon = () => end("open");
      watch.callers.add(caller);
      wait.signal.addEventListener("abort", abandon);

      function end(ended: Ended): void {
        leave();
        resolve(ended);
      }
      function leave(): void {
        wait.signal.removeEventListener("abort", abandon);
        watch.callers.delete(caller);
        if (watch.callers.size > 0) return;
        watches.delete(id);
        watch.left.abort();
      }
    });

  function begin(id: string): Watch {
    const watch: Watch = { callers: new Set(), left: new AbortController() };
    watches.set(id, watch);
    look(id, watch).catch((error: unknown) => {
      for (const { fail } of watch.callers) fail(error);
    });
    return watch;
  }

  async function look(id: string, { callers, left }: Watch): Promise<void> {
    const { approvals } = await openState();
    while (!left.signal.aborted) {
      const status = await approvals.readStatus(id);
      for (const { hear } of callers) hear(status);
      await sleep(lookEvery_ms, left.signal).catch(() => undefined);
    }
  }

  /** What one who waits makes of each look: whether it is the last one for them. */
  function createEar({ until, tellWaiting }: Wait): (status: Status) => Ended | undefined {
    const begun = clock.monotonic();
    let told = begun;
    return (status) => {
      if (status === undefined) return "over";
      if (status !== "waiting") return "decided";
      const now = clock.monotonic();
      if (now >= until) return "open";
      if (now - told >= tellEvery_ms) tellWaiting(((told = now) - begun) / 1000);
      return undefined;
    };
  }
}
