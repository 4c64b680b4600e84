import { CallFailure } from "../../client/call-failure.ts";
import type { Sleep } from "../../client/client.ts";
import type { Clock } from "../../contract/clock.ts";
import type { Asking } from "../owner.ts";

/** How long a list is read for one answer. What was read by then counts. */

export type InTime = Asking & {
  readonly clock: Pick<Clock, "monotonic">;
  readonly sleep: Sleep;
};

type Timed = {
  /** Ends with `TimeIsUp`, also while it waits; before anything was read, only by itself. */
  readonly call: Asking["call"];
  readonly noteRead: () => void;
  readonly stop: () => void;
};

class TimeIsUp extends Error {
  override readonly name = "TimeIsUp";
}

const mostTime_ms = 20_000;

export function limitTime({ call, signal, clock, sleep }: InTime): Timed {
  const end = clock.monotonic() + mostTime_ms;
  const over = new AbortController();
  const stopped = new AbortController();
  let hasRead = false;
  sleep(mostTime_ms, stopped.signal).then(
    () => over.abort(),
    // It was broken off, because the reading was over before it.
    () => undefined,
  );
  return {
    call: async (endpoint, input, caller = signal, condition) => {
      if (!hasRead) return call(endpoint, input, caller, condition);
      if (over.signal.aborted || clock.monotonic() >= end) throw new TimeIsUp();
      try {
        const either = AbortSignal.any([caller, over.signal]);
        return await call(endpoint, input, either, condition);
      } catch (error) {
        const isCut = error instanceof CallFailure && error.code === "cancelled";
        throw isCut && !caller.aborted ? new TimeIsUp() : error;
      }
    },
    noteRead: () => {
      hasRead = true;
    },
    stop: () => stopped.abort(),
  };
}

/** Undefined where the time was up before the end. */
export async function untilTimeIsUp<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TimeIsUp) return undefined;
    throw error;
  }
}
