import type { Clock, SetAlarm } from "../../src/contract/clock.ts";

/** Alarms that ring when the test has moved its clock so far, and never by themselves. */
export type Alarms = {
  readonly setAlarm: SetAlarm;
  /** Rings those that are due, in the order of their times. */
  readonly ringDue: () => void;
};

/** For those of whom nobody wants to know what they do when their time is over. */
export const neverRing: SetAlarm = () => () => undefined;

/** What is gathered for a moment is written in the next one: no test waits for it. */
export const ringSoon: SetAlarm = (_milliseconds, ring) => {
  const waiting = setImmediate(ring);
  return () => clearImmediate(waiting);
};

type Waiting = { readonly due: number; readonly ring: () => void };

export function createAlarms({ monotonic }: Pick<Clock, "monotonic">): Alarms {
  const waiting = new Set<Waiting>();
  return {
    setAlarm: (milliseconds, ring) => {
      const alarm = { due: monotonic() + milliseconds, ring };
      waiting.add(alarm);
      return () => void waiting.delete(alarm);
    },
    ringDue: () => {
      const due = [...waiting].filter((alarm) => alarm.due <= monotonic());
      for (const alarm of due.toSorted((one, other) => one.due - other.due)) {
        // One of those before it may have taken it back.
        if (waiting.delete(alarm)) alarm.ring();
      }
    },
  };
}
