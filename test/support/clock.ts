import type { Clock, SetAlarm } from "../../src/contract/clock.ts";
import { setTimeout } from "node:timers/promises";

/** Use these wherever a test depends on time: none of them waits for the time of the machine. */

/** Time that passes only when the test says so, also for code that sleeps by it. */
export type TestClock = Clock & {
  /** Moves both clocks forward, and wakes the sleepers that are due by then. */
  readonly advance: (milliseconds: number) => void;
  /** Changes only the time of day. A negative number moves it back. */
  readonly setClock: (milliseconds: number) => void;
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<void>;
  /** Resolves as soon as `count` sleepers sleep at the same time. */
  readonly untilAsleep: (count?: number) => Promise<void>;
  /** Whether a sleeper asked for at most this long. */
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
        const onAbort = end(() =>
          reject(new DOMException("The sleep was cancelled.", "AbortError")),
        );
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

/** Alarms that ring when the test's clock has reached their time, and only if a test asks. */
export type Alarms = {
  readonly setAlarm: SetAlarm;
  /** Rings the due alarms in the order of their times. */
  readonly ringDue: () => void;
};

/** For tests in which no timer matters. */
export const neverRing: SetAlarm = () => () => undefined;

/** Rings right after the current work, so that no test waits for writes that are batched. */
export const ringSoon: SetAlarm = (_milliseconds, ring) => {
  const waiting = setImmediate(ring);
  return () => clearImmediate(waiting);
};

type PendingAlarm = { readonly due: number; readonly ring: () => void };

export function createAlarms({ monotonic }: Pick<Clock, "monotonic">): Alarms {
  const waiting = new Set<PendingAlarm>();
  return {
    setAlarm: (milliseconds, ring) => {
      const alarm = { due: monotonic() + milliseconds, ring };
      waiting.add(alarm);
      return () => void waiting.delete(alarm);
    },
    ringDue: () => {
      const due = [...waiting].filter((alarm) => alarm.due <= monotonic());
      for (const alarm of due.toSorted((one, other) => one.due - other.due)) {
        // An earlier alarm may have cancelled it.
        if (waiting.delete(alarm)) alarm.ring();
      }
    },
  };
}

export type Gate = {
  readonly opened: Promise<void>;
  readonly open: () => void;
};

export function createGate(): Gate {
  let open: (() => void) | undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open?.() };
}

/** Checks a condition repeatedly. Only the time limit of the test stops it otherwise. */
export async function waitUntil(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await setTimeout(10);
}

/** Sets a command's clock ahead, so that the lease of a killed process has already ended. */
export function setClockAhead(milliseconds: number): { readonly NODE_OPTIONS: string } {
  const program = `const { now } = Date; Date.now = () => now() + ${milliseconds};`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` };
}
