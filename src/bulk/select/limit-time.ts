import { CallFailure } from "../../client/call-failure.ts";
import type { Sleep } from "../../client/client.ts";
import type { Clock } from "../../contract/clock.ts";
import { toSignal } from "../../contract/leaving.ts";
import type { Asking } from "../owner.ts";

/** How long a list is read for one answer. What was read by then counts. */

type Limited = Asking & {
  readonly clock: Pick<Clock, "monotonic">;
  readonly sleep: Sleep;
};

export type InTime = Asking & {
  /** Ends when the time is up, also while it waits. */
  readonly call: Asking["call"];
  /** From then on what was read can be answered when the time is up. */
  readonly noteRead: () => void;
};

class TimeIsUp extends Error {
  override readonly name = "TimeIsUp";
}

const mostTime_ms = 20_000;

/** It runs from here on, over all that is asked by `call`, until it is stopped. */
export function limitTime({
  call,
  signal,
  linkHost,
  clock,
  sleep,
}: Limited): InTime & { readonly stop: () => void } {
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
    signal,
    linkHost,
    call: async (endpoint, input, caller = signal, options) => {
      if (over.signal.aborted || clock.monotonic() >= end) throw endTime(hasRead);
      try {
        const either = AbortSignal.any([toSignal(caller), over.signal]);
        return await call(endpoint, input, either, options);
      } catch (error) {
        const isCut = error instanceof CallFailure && error.code === "cancelled";
        throw isCut && !caller.aborted ? endTime(hasRead) : error;
      }
    },
    noteRead: () => {
      hasRead = true;
    },
    stop: () => stopped.abort(),
  };
}

/** Where nothing was read there is nothing to answer. */
function endTime(hasRead: boolean): Error {
  if (hasRead) return new TimeIsUp();
  const message =
    `The server did not respond within ${mostTime_ms / 1000} s, and no link was read. ` +
    "Narrower filters on name, path, clicks or created_at may help.";
  return new CallFailure("timed_out", message, { effect: "none", retry: "later" });
}

/** Undefined where the time was up before the end, and something was read by then. */
export async function untilTimeIsUp<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof TimeIsUp) return undefined;
    throw error;
  }
}
