import type { Clock } from "../../contract/clock.ts";
import type { State } from "../../state/state.ts";

/** What became of a page while a call waited; it may still be open when the time is up. */
type Ended = "decided" | "over" | "open";

/** Resolves when a person has answered an approval's page, in whichever process shows it. */
export type AwaitDecision = (
  id: string,
  wait: {
    /** By the monotonic clock. */
    readonly until: number;
    readonly signal: AbortSignal;
    /** Called now and then, with the seconds that have passed. */
    readonly tellWaiting: (seconds: number) => unknown;
  },
) => Promise<Ended>;

type DecisionOptions = {
  readonly openState: () => Promise<State>;
  readonly clock: Clock;
  /** Rejects as soon as the signal is aborted. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

/** A person does not notice so short a time, and a look reads one row. */
const lookEvery_ms = 250;
const tellEvery_ms = 10_000;

export function createAwaitDecision({ openState, clock, sleep }: DecisionOptions): AwaitDecision {
  return async (id, { until, signal, tellWaiting }) => {
    const { approvals } = await openState();
    const begun = clock.monotonic();
    let told = begun;
    // Once the caller has left the state may be closed, too.
    while (!signal.aborted) {
      const page = await approvals.findPage(id);
      if (page === undefined) return "over";
      if (page.status !== "waiting") return "decided";
      const now = clock.monotonic();
      if (now >= until) break;
      if (now - told >= tellEvery_ms) tellWaiting(((told = now) - begun) / 1000);
      await sleep(lookEvery_ms, signal).catch(() => undefined);
    }
    return "open";
  };
}
