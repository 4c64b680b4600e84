import type { Clock } from "../../contract/clock.ts";
import type { State } from "../../state/state.ts";

/**
 * How the wait for a page ended. The page may still be open when the time is up. `unwatched` means
 * that too many calls of the key already wait.
 */
type WaitResult = "decided" | "over" | "open" | "unwatched";

/** Waits until a person has answered on an approval's page, in any process. */
export type AwaitDecision = (
  id: string,
  wait: {
    readonly key_print: string;
    /** By the monotonic clock. */
    readonly until: number;
    readonly signal: AbortSignal;
    /** Called from time to time, with the seconds that have passed. */
    readonly tellWaiting: (seconds: number) => unknown;
  },
) => Promise<WaitResult>;

type DecisionWait = Parameters<AwaitDecision>[1];

type DecisionOptions = {
  readonly openState: () => Promise<Pick<State, "approvals">>;
  readonly clock: Clock;
  /** Rejects as soon as the signal is aborted. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** Too short to notice, and each check reads only four short columns of one row. */
const lookEvery_ms = 250;
const tellEvery_ms = 10_000;
/** For each key, because each waiting call keeps its request in memory. */
const mostWaiting = 20;

export function createAwaitDecision(options: DecisionOptions): AwaitDecision {
  /** The number of waiting calls by key. */
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
  { until, signal, tellWaiting }: DecisionWait,
  { openState, clock, sleep }: DecisionOptions,
): Promise<WaitResult> {
  const { approvals } = await openState();
  const begun = clock.monotonic();
  let reportedAt = begun;
  while (!signal.aborted) {
    const status = await approvals.readStatus(id);
    if (status === undefined) return "over";
    if (status !== "waiting") return "decided";
    const now = clock.monotonic();
    if (now >= until) return "open";
    if (now - reportedAt >= tellEvery_ms) tellWaiting(((reportedAt = now) - begun) / 1000);
    await sleep(lookEvery_ms, signal).catch(() => undefined);
  }
  return "open";
}
