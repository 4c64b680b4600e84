import { CallFailure } from "../../client/call-failure.ts";
import type { Sleep } from "../../client/client.ts";
import type { Clock } from "../../contract/clock.ts";
import { toSignal } from "../../contract/waiting.ts";
import type { ServerAccess } from "../owner.ts";

/** How long a list is read for one answer. What was read by then counts. */

/** `call` fails when the time is up, also while it waits. */
export type InTime = ServerAccess & {
  /** Whether the remaining time is needed to find out where to continue. */
  readonly isLate: () => boolean;
};

/** Failures because the time is up. If something was read before, they only end the reading. */
const lateFailures = new WeakSet<object>();

function failLate(): CallFailure {
  const message =
    `The server did not respond within ${mostTime_ms / 1000} s, and no link was read. ` +
    "Narrower filters on name, path, clicks or created_at may help.";
  const failure = new CallFailure("timed_out", message, { effect: "none", retry: "later" });
  lateFailures.add(failure);
  return failure;
}

const mostTime_ms = 20_000;
const half_ms = 10_000;
/** Enough requests to find any moment by halving. */
const mostSteps = 25;

type Limited = ServerAccess & { readonly clock: Pick<Clock, "monotonic">; readonly sleep: Sleep };

/** It runs from here on, over all that is asked by `call`, until it is stopped. */
export function limitTime({ call, signal, linkHost, clock, sleep }: Limited) {
  const begin = clock.monotonic();
  let calls = 0;
  const over = new AbortController();
  const stopped = new AbortController();
  sleep(mostTime_ms, stopped.signal).then(
    () => over.abort(),
    // It was broken off, because the reading was over before it.
    () => undefined,
  );
  const inTime: InTime = {
    signal,
    linkHost,
    call: async (endpoint, input, caller = signal, options) => {
      calls += 1;
      const isOver = clock.monotonic() - begin >= mostTime_ms;
      if (over.signal.aborted || isOver) throw failLate();
      try {
        const either = AbortSignal.any([toSignal(caller), over.signal]);
        return await call(endpoint, input, either, options);
      } catch (error) {
        const isCut = error instanceof CallFailure && error.code === "cancelled";
        throw isCut && !caller.aborted ? failLate() : error;
      }
    },
    isLate: () => {
      const spent_ms = clock.monotonic() - begin;
      return spent_ms >= half_ms && spent_ms * (1 + mostSteps / calls) >= mostTime_ms;
    },
  };
  return { ...inTime, stop: () => stopped.abort() };
}

/** Undefined when the time was up before the end. */
export async function untilTimeIsUp<Result>(work: Promise<Result>): Promise<Result | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof CallFailure && lateFailures.has(error)) return undefined;
    throw error;
  }
}
