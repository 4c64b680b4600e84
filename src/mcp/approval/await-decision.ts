import type { Clock } from "../../contract/clock.ts";
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

type DecisionOptions = {
  readonly openState: () => Promise<Pick<State, "approvals">>;
  readonly clock: Clock;
  /** Rejects as soon as the signal is aborted. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** A person does not notice so short a time, and a look reads four short columns of one row. */
const lookEvery_ms = 250;
const tellEvery_ms = 10_000;
/** Of one key: each holds a request, and what it would do, in memory. */
const mostWaiting = 20;

export function createAwaitDecision(options: DecisionOptions): AwaitDecision {
  /** How many calls of each key wait. */
  const waiting = new Map<string, number>();
  return async (id, wait) => {
    const { key_print } = wait;
    const others = waiting.get(key_print) ?? 0;
    if (others >= mostWaiting) return "unwatched";
    waiting.set(key_print, others + 1);
    try {
      return await watchPage(id, wait, options);
    } finally {
      const left = (waiting.get(key_print) ?? 0) - 1;
      if (left > 0) waiting.set(key_print, left);
      else waiting.delete(key_print);
    }
  };
}

async function watchPage(
  id: string,
  { until, signal, tellWaiting }: Wait,
  { openState, clock, sleep }: DecisionOptions,
): Promise<Ended> {
  const { approvals } = await openState();
  const begun = clock.monotonic();
  let told = begun;
  while (!signal.aborted) {
    const status = await approvals.readStatus(id);
    if (status === undefined) return "over";
    if (status !== "waiting") return "decided";
    const now = clock.monotonic();
    if (now >= until) return "open";
    if (now - told >= tellEvery_ms) tellWaiting(((told = now) - begun) / 1000);
    await sleep(lookEvery_ms, signal).catch(() => undefined);
  }
  return "open";
}
