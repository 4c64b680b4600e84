import type { Clock, SetAlarm } from "../contract/clock.ts";

type Alarm = {
  readonly at: number;
  readonly ring: () => void;
  /** How many were set before it: of two that are due at once, the earlier one rings first. */
  readonly turn: number;
  /** Where it is among those that wait; undefined once it is over. */
  place: number | undefined;
};

/** The most that a timer of Node's can wait. */
const longest_ms = 2 ** 31 - 1;

/**
 * All alarms upon one timer. Each request sets one, and hardly any ever rings: a timer for each of
 * them would cost more than reading what was asked for.
 */
export function createAlarms({ monotonic }: Pick<Clock, "monotonic">): SetAlarm {
  // In no order, and no Set: V8 ties the tables that a Set outgrows into a chain, and once one of
  // them is old, all after it outlive the small collections, with whatever the alarms reach.
  const waiting: Alarm[] = [];
  let turns = 0;
  let ringsAt = Infinity;
  let timer: NodeJS.Timeout | undefined;

  function wakeAt(at: number): void {
    if (at >= ringsAt) return;
    clearTimeout(timer);
    ringsAt = at;
    timer = setTimeout(ringDue, Math.min(at - monotonic(), longest_ms)).unref();
  }

  /** False where it was over. */
  function remove(alarm: Alarm): boolean {
    const { place } = alarm;
    if (place === undefined) return false;
    alarm.place = undefined;
    const last = waiting.pop();
    if (last === undefined || last === alarm) return true;
    last.place = place;
    waiting[place] = last;
    return true;
  }

  function ringDue(): void {
    ringsAt = Infinity;
    const now = monotonic();
    const due = waiting.filter(({ at }) => at <= now);
    try {
      for (const alarm of due.toSorted(byTime)) {
        // One of those before it may have taken it back.
        if (remove(alarm)) alarm.ring();
      }
    } finally {
      // One that throws leaves those after it for the next time.
      let first = Infinity;
      for (const { at } of waiting) first = Math.min(first, at);
      wakeAt(first);
    }
  }

  return (milliseconds, ring) => {
    turns += 1;
    const alarm = { at: monotonic() + milliseconds, ring, turn: turns, place: waiting.length };
    waiting.push(alarm);
    wakeAt(alarm.at);
    return () => void remove(alarm);
  };
}

function byTime(one: Alarm, other: Alarm): number {
  return one.at - other.at || one.turn - other.turn;
}
