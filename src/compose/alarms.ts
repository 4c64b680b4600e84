import type { Clock, SetAlarm } from "../contract/clock.ts";

type Alarm = { readonly at: number; readonly ring: () => void };

/** The most that a timer of Node's can wait. */
const longest_ms = 2 ** 31 - 1;

/**
 * All alarms upon one timer. Each request sets one, and hardly any ever rings: a timer for each of
 * them would cost more than reading what was asked for.
 */
export function createAlarms({ monotonic }: Pick<Clock, "monotonic">): SetAlarm {
  const waiting = new Set<Alarm>();
  let ringsAt = Infinity;
  let timer: NodeJS.Timeout | undefined;

  function wakeAt(at: number): void {
    if (at >= ringsAt) return;
    clearTimeout(timer);
    ringsAt = at;
    timer = setTimeout(ringDue, Math.min(at - monotonic(), longest_ms)).unref();
  }

  function ringDue(): void {
    ringsAt = Infinity;
    const now = monotonic();
    const due = [...waiting].filter(({ at }) => at <= now);
    try {
      for (const alarm of due.toSorted((one, other) => one.at - other.at)) {
        // One of those before it may have taken it back.
        if (waiting.delete(alarm)) alarm.ring();
      }
    } finally {
      // One that throws leaves those after it for the next time.
      let first = Infinity;
      for (const { at } of waiting) first = Math.min(first, at);
      wakeAt(first);
    }
  }

  return (milliseconds, ring) => {
    const alarm = { at: monotonic() + milliseconds, ring };
    waiting.add(alarm);
    wakeAt(alarm.at);
    return () => waiting.delete(alarm);
  };
}
