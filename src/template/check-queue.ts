import { setTimeout } from "node:timers/promises";

/** Does a piece of heavy work when it is its turn. */
export type RunInTurn = <Result>(work: () => Result) => Promise<Result>;

/** How long one page may take where nobody waits but the one who asked for it. */
export const longestPiece_ms = 100;

export type TurnTiming = {
  /** Milliseconds that never jump. */
  readonly monotonic: () => number;
  /** Leaves the event loop to everybody else for so many milliseconds. */
  readonly rest?: (milliseconds: number) => Promise<unknown>;
};

/**
 * Looking a template over takes milliseconds, of a hostile one some ten. One piece is done after
 * the other, and between two of them everybody else has as much time as the first one took:
 * however many come at once, a request waits for hardly more than one.
 */
export function createCheckQueue({ monotonic, rest = setTimeout }: TurnTiming): RunInTurn {
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
    const leave = () => rest(took_ms);
    last = result.then(leave, leave);
    return result;
  };
}
