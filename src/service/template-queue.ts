import type { Waiter } from "../contract/clock.ts";
import { overloaded } from "../contract/problem.ts";
import type { RunQueued } from "../template/check-queue.ts";

/** A request with a template to check. `hasLeft` returns whether its client has disconnected. */
type QueuedCall = {
  readonly caller: { readonly project: { readonly id: string } };
  readonly signal: Pick<Waiter, "hasLeft">;
};

/** Runs the work of a request after all earlier requests of its project. */
export type WaitInQueue = <Result>(
  call: QueuedCall,
  work: (runQueued: RunQueued) => Promise<Result>,
) => Promise<Result>;

type Queue = {
  /** Resolves when the last call of the queue is done. */
  end: Promise<void>;
  calls: number;
};

/**
 * Twice the number of calls that one key may send per minute. Each call holds a whole template in
 * memory.
 */
const mostQueuedCalls = 120;

/**
 * Queues the checks of templates, which are the service's heaviest work. Each project has a queue,
 * and only the first call of each queue is checked. The checks run in short steps and take turns,
 * so one project's many calls do not delay the others. A project's calls are answered one by one,
 * so that not all of them time out. If the client has left, the call is skipped.
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

/** Throws once the client has already got a 503. */
function requireActive(signal: QueuedCall["signal"]): void {
  if (signal.hasLeft()) throw overloaded();
}
