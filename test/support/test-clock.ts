import type { Clock } from "../../src/contract/clock.ts";

/** Time that passes when the test says so, for whoever looks at it and whoever sleeps by it. */
export type TestClock = Clock & {
  /** Moves both clocks forward, and wakes whoever has slept long enough by then. */
  readonly advance: (milliseconds: number) => void;
  /** Moves the time of day alone: forward, or back where it is negative. */
  readonly setClock: (milliseconds: number) => void;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Resolves as soon as so many sleep at once. */
  readonly untilAsleep: (count?: number) => Promise<void>;
  /** Whether somebody sleeps who meant to sleep so long at most. */
  readonly isAsleepFor: (most_ms: number) => boolean;
};

type Sleeper = { readonly until: number; readonly asked_ms: number; readonly wake: () => void };

export function createTestClock(): TestClock {
  let now = Date.UTC(2026, 0, 15, 12);
  let monotonic = 0;
  const sleepers = new Set<Sleeper>();
  const watchers = new Set<() => void>();

  return {
    now: () => now,
    monotonic: () => monotonic,
    advance: (milliseconds) => {
      now += milliseconds;
      monotonic += milliseconds;
      for (const { until, wake } of sleepers) if (until <= monotonic) wake();
    },
    setClock: (milliseconds) => {
      now += milliseconds;
    },
    sleep: async (milliseconds, signal) => {
      signal.throwIfAborted();
      if (milliseconds <= 0) return;
      await new Promise<void>((resolve, reject) => {
        const end = (leave: () => void) => () => {
          sleepers.delete(sleeper);
          signal.removeEventListener("abort", onAbort);
          leave();
        };
        const onAbort = end(() => reject(new DOMException("Nobody waits.", "AbortError")));
        const until = monotonic + milliseconds;
        const sleeper = { until, asked_ms: milliseconds, wake: end(resolve) };
        sleepers.add(sleeper);
        for (const look of watchers) look();
        signal.addEventListener("abort", onAbort);
      });
    },
    untilAsleep: (count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          if (sleepers.size < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
    isAsleepFor: (most_ms) => [...sleepers].some(({ asked_ms }) => asked_ms <= most_ms),
  };
}
