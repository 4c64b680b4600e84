import type { Clock } from "../../contract/clock.ts";
import type { State } from "../../state/state.ts";

/** Waits until a user decides about an approval request on its page. */

/**
 * How the wait for a decision ended. `over`: the approval no longer exists. `open`: the wait timed
 * out or was cancelled. `unwatched`: too many calls of the key were already waiting.
 */
type WaitResult = "decided" | "over" | "open" | "unwatched";

/** Waits until a user decides on the approval page, which any process may serve. */
export type AwaitDecision = (
  id: string,
  wait: {
    readonly key_print: string;
    /** The deadline, on the monotonic clock. */
    readonly until: number;
    readonly signal: AbortSignal;
    readonly reportWaiting: (seconds: number) => unknown;
  },
) => Promise<WaitResult>;

type DecisionWait = Parameters<AwaitDecision>[1];

type DecisionOptions = {
  readonly openState: () => Promise<Pick<State, "approvals">>;
  readonly clock: Clock;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** The interval is short enough to feel instant. Each check reads only one row. */
const pollEvery_ms = 250;
const reportEvery_ms = 10_000;
/** The maximum number of waiting calls per key. Each one stays in memory. */
const mostWaiting = 20;

export function createAwaitDecision(options: DecisionOptions): AwaitDecision {
  /** The number of waiting calls per key. */
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
  { until, signal, reportWaiting }: DecisionWait,
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
    if (now - reportedAt >= reportEvery_ms) reportWaiting(((reportedAt = now) - begun) / 1000);
    await sleep(pollEvery_ms, signal).catch(() => undefined);
  }
  return "open";
}
