import type { ApiReply, CarriedRequest } from "../contract/api-message.ts";
import type { Clock, SetAlarm, Waiter } from "../contract/clock.ts";
import { messages } from "../contract/messages.ts";
import { notBegun, outcomeUnknown, overloaded } from "../contract/problem.ts";
import type { Report } from "../contract/watch.ts";
import { respondWithProblem, toProblem } from "./respond.ts";

type Options = {
  readonly clock: Pick<Clock, "monotonic">;
  readonly setAlarm: SetAlarm;
  readonly report: Report;
};

/** After this long a caller is told 503 (api-spec.md, "Errors"). */
const deadline_ms = 10_000;
/**
 * A write that has begun by then has so much longer to end, and mostly needs a moment of it: where
 * writers stand in a line as long as the deadline, each has its turn just before it. A client of
 * ours waits for 15 s.
 */
const endOfWrite_ms = 4_000;

/** No error leaves but as a Problem, and no caller waits for ever. */
export async function answerInTime(
  { clock, setAlarm, report }: Options,
  { request, isRead }: { readonly request: CarriedRequest; readonly isRead: boolean },
  work: (signal: Waiter) => Promise<ApiReply>,
): Promise<ApiReply> {
  const { waiter, leave, isWritten } = createWaiter(request, clock);
  let endWait: (() => void) | undefined;
  const late = new Promise<never>((_, reject) => {
    endWait = setAlarm(deadline_ms, () => {
      // Nothing begins any more; but what has begun may yet be kept.
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

/** No AbortController, which costs more than everything else around a request. */
function createWaiter({ onLeave, hasLeft }: CarriedRequest, { monotonic }: Options["clock"]) {
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
