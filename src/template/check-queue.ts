import { setImmediate, setTimeout } from "node:timers/promises";

/** Does a piece of heavy work in its turn. */
export type RunInTurn = <Result>(work: () => Result) => Promise<Result>;

/** How long one page may take in a check or a preview, where only its own caller waits for it. */
export const longestPiece_ms = 100;

type TurnTiming = {
  /** Milliseconds that never jump. */
  readonly monotonic: () => number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
};

/**
 * Checking a template takes milliseconds, a hostile one some tens of them. One piece is done after
 * the other, and between two of them the event loop is free for as long as the first one took:
 * however many pieces come at once, another request waits for hardly more than one.
 */
export function createCheckQueue({ monotonic, sleep = rest }: TurnTiming): RunInTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    let took_ms = 0;
    const result = last.then(() => {
      const started = monotonic();
      try {
        return work();
      } finally {
        took_ms = monotonic() - started;
      }
    });
    const pause = () => sleep(took_ms);
    last = result.then(pause, pause);
    return result;
  };
}

/** A timer waits for a millisecond at least, which is more than a short piece took. */
function rest(milliseconds: number): Promise<unknown> {
  return milliseconds < 1 ? setImmediate() : setTimeout(milliseconds);
}
