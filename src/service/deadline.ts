import type { ApiReply, CarriedRequest } from "../contract/api-message.ts";
import type { Clock, SetAlarm, Waiter } from "../contract/clock.ts";
import { messages } from "../contract/messages.ts";
import { notBegun, outcomeUnknown, overloaded } from "../contract/problem.ts";
import type { Report } from "../contract/watch.ts";
import { respondWithProblem, toProblem } from "./pipeline.ts";

/** Limits how long an API request may take. */

type DeadlineOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly setAlarm: SetAlarm;
  readonly report: Report;
};

/** The time after which the caller gets a 503. */
const deadline_ms = 10_000;
/**
 * Extra time for a write that started before the deadline, because several queued writes may start
 * just before it. Waypost's own client waits longer than both times together.
 */
const endOfWrite_ms = 4_000;

/** Responds with a 503 after the deadline, and converts every error to a response. */
export async function answerInTime(
  { clock, setAlarm, report }: DeadlineOptions,
  { request, isRead }: { readonly request: CarriedRequest; readonly isRead: boolean },
  work: (signal: Waiter) => Promise<ApiReply>,
): Promise<ApiReply> {
  const { waiter, leave, isWritten } = createWaiter(request, clock);
  let endWait: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    endWait = setAlarm(deadline_ms, () => {
      // No new work may start, but a started write may still succeed.
      leave();
      if (!isWritten()) reject(overloaded());
      else endWait = setAlarm(endOfWrite_ms, () => reject(outcomeUnknown()));
    });
  });
  try {
    return await Promise.race([work(waiter), late]);
  } catch (error) {
    const problem = toProblem(error, (fault) =>
      report(fault, request.requestId, request.headers["traceparent"]),
    );
    const isLate = problem.message === messages.took_too_long;
    return respondWithProblem(isLate && !isRead && !isWritten() ? notBegun() : problem);
  } finally {
    endWait?.();
  }
}

/** Tracks whether the caller is still waiting. An AbortController would be much slower. */
function createWaiter(
  { onLeave, hasLeft }: CarriedRequest,
  { monotonic }: DeadlineOptions["clock"],
) {
  const due = monotonic() + deadline_ms;
  let end: (() => void) | undefined;
  let isOver = false;
  let isWriting = false;
  const waiter = {
    hasLeft: () => isOver || hasLeft?.() === true,
    left_ms: () => due - monotonic(),
    onAbort: (endWork: () => void) => {
      end = endWork;
      onLeave?.(leave);
    },
    noteWriting: () => {
      isWriting = true;
    },
  };
  function leave(): void {
    isOver = true;
    end?.();
  }
  return { waiter, leave, isWritten: () => isWriting };
}
