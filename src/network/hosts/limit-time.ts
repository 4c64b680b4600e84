import type { SetAlarm } from "../../contract/clock.ts";

/** Combines a caller's signal with a time limit. */
export function limitTime(outer: AbortSignal, most_ms: number, setAlarm: SetAlarm) {
  const over = new AbortController();
  const stop = setAlarm(most_ms, () => over.abort());
  const signal = AbortSignal.any([outer, over.signal]);
  return { signal, stop, isOver: () => over.signal.aborted };
}
