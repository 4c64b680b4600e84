import { setTimeout } from "node:timers/promises";

/** Does a piece of heavy work when it is its turn. */
export type TakeTurn = <Result>(work: () => Result) => Promise<Result>;

let last: Promise<void> = Promise.resolve();

/**
 * Looking a template over takes milliseconds, of a hostile one some ten. One piece is done after
 * the other, and between two of them everybody else has as much time as the first one took:
 * however many come at once, a request waits for hardly more than one.
 */
export function takeTurn<Result>(work: () => Result): Promise<Result> {
  let took_ms = 0;
  const result = last.then(() => {
    const started = performance.now();
    try {
      return work();
    } finally {
      took_ms = performance.now() - started;
    }
  });
  const rest = () => setTimeout(took_ms);
  last = result.then(rest, rest);
  return result;
}
