import { setImmediate, setTimeout } from "node:timers/promises";
import type { Waiter } from "../contract/clock.ts";
import { overloaded } from "../contract/problem.ts";

/** Queues checks of templates, so that they do not delay other requests. */

/** Runs work in the queue, and resolves with the result of the work. */
export type RunQueued = <Result>(work: () => Result) => Promise<Result>;

/**
 * The time limit for rendering a page in a check or preview. Higher than the limit for visitors,
 * because a slow check delays only its caller.
 */
export const pageTimeLimit_ms = 100;

type QueueTiming = {
  readonly monotonic: () => number;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
};

/**
 * Runs checks one after the other. After each check, pauses for as long as the check took, so that
 * other requests are answered in between.
 */
export function createCheckQueue({ monotonic, sleep = pause }: QueueTiming): RunQueued {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    let took_ms = 0;
    const result = last.then(() => {
      const started = monotonic();
      try {
        return work();
      } finally {
        took_ms = monotonic() - started;
      }
    });
    const rest = () => sleep(took_ms);
    last = result.then(rest, rest);
    return result;
  };
}

/** Short pauses use no timer, because a timer takes at least a millisecond. */
function pause(milliseconds: number): Promise<unknown> {
  return milliseconds < 1 ? setImmediate() : setTimeout(milliseconds);
}

type QueuedCall = {
  readonly caller: { readonly project: { readonly id: string } };
  readonly signal: Pick<Waiter, "hasLeft">;
};

/** Runs a request's work when no earlier request of the same project is running or waiting. */
export type WaitInQueue = <Result>(
  call: QueuedCall,
  work: (runQueued: RunQueued) => Promise<Result>,
) => Promise<Result>;

type Queue = {
  /** Resolves when the last call in the queue is done. */
  end: Promise<void>;
  calls: number;
};

/**
 * The maximum number of calls that wait per project. Each call keeps a whole template in memory.
 * This is twice the number of calls that a key may make per minute.
 */
const mostQueuedCalls = 120;

/**
 * Queues template checks, which are the service's heaviest work. Each project has its own queue, so
 * its checks do not delay those of other projects. A queue runs one call at a time. Otherwise, all
 * calls of a busy project could time out. Calls whose client has left are skipped.
 */
export function createTemplateQueue(runQueued: RunQueued): WaitInQueue {
  const queues = new Map<string, Queue>();
  return ({ caller, signal }, work) => {
    const { id } = caller.project;
    const queue = queues.get(id) ?? { end: Promise.resolve(), calls: 0 };
    if (queue.calls >= mostQueuedCalls) return Promise.reject(overloaded());
    queues.set(id, queue);
    queue.calls += 1;
    const result = queue.end.then(() => {
      requireActive(signal);
      return work((piece) =>
        runQueued(() => {
          requireActive(signal);
          return piece();
        }),
      );
    });
    const removeCall = () => {
      queue.calls -= 1;
      if (queue.calls === 0) queues.delete(id);
    };
    queue.end = result.then(removeCall, removeCall);
    return result;
  };
}

/** Throws if the client has disconnected or has already received a 503. */
function requireActive(signal: QueuedCall["signal"]): void {
  if (signal.hasLeft()) throw overloaded();
}
