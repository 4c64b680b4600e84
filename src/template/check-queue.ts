import { setImmediate, setTimeout } from "node:timers/promises";

/** Runs a piece of heavy work when it is its turn. */
export type RunInTurn = <Result>(work: () => Result) => Promise<Result>;

/** How long one page may take in a check or preview, where only its own caller waits for it. */
export const longestPiece_ms = 100;

type TurnTiming = {
  /** A clock in milliseconds that never jumps. */
  readonly monotonic: () => number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
};

/**
 * Runs checks one after the other. After each one, the event loop is free for as long as it took.
 * So other requests wait for hardly more than one check, no matter how many are queued.
 */
export function createCheckQueue({ monotonic, sleep = pause }: TurnTiming): RunInTurn {
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
    const rest = () => sleep(took_ms);
    last = result.then(rest, rest);
    return result;
  };
}

/** Timers wait for at least a millisecond, which is longer than a short check took. */
function pause(milliseconds: number): Promise<unknown> {
  return milliseconds < 1 ? setImmediate() : setTimeout(milliseconds);
}
