import type { ApiReply, CarriedRequest } from "../contract/api-message.ts";
import type { Clock, SetAlarm, Waiter } from "../contract/clock.ts";
import { messages } from "../contract/messages.ts";
import { notBegun, outcomeUnknown, overloaded } from "../contract/problem.ts";
import type { Report } from "../contract/watch.ts";
import { respondWithProblem, toProblem } from "./respond.ts";

/** Limits how long a caller waits for a response, and converts every error to a response. */

type DeadlineOptions = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly setAlarm: SetAlarm;
  readonly report: Report;
};

/** A caller gets a 503 after this time. */
const deadline_ms = 10_000;
/**
 * The extra time for a write that has already started, because it usually needs only a moment. If
 * many writes are queued, each may start just before the deadline. Waypost's own client waits
 * longer than both times together.
 */
const endOfWrite_ms = 4_000;

/** Answers a request within the deadline. Errors become responses. */
export async function answerInTime(
  { clock, setAlarm, report }: DeadlineOptions,
  { request, isRead }: { readonly request: CarriedRequest; readonly isRead: boolean },
  work: (signal: Waiter) => Promise<ApiReply>,
): Promise<ApiReply> {
  const { waiter, leave, isWritten } = createWaiter(request, clock);
  let endWait: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    endWait = setAlarm(deadline_ms, () => {
      // Nothing more may start, but a write that has started may still be stored.
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

/**
 * Creates the signal of a waiting caller. An AbortController would cost more than the rest of the
 * request.
 */
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
