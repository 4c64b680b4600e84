import type { Waiter } from "../contract/clock.ts";
import { overloaded } from "../contract/problem.ts";
import type { RunInTurn } from "../template/check-queue.ts";

/** A call that needs a template checked, and whether its client still waits. */
type QueuedCall = {
  readonly caller: { readonly project: { readonly id: string } };
  readonly signal: Pick<Waiter, "hasLeft">;
};

/** Runs the work of a call after the calls before it. */
export type WaitInQueue = <Result>(
  call: QueuedCall,
  work: (takeOwnTurn: RunInTurn) => Promise<Result>,
) => Promise<Result>;

type Queue = {
  /** Resolves when the last call of the queue is done. */
  end: Promise<void>;
  calls: number;
};

/** Twice what one key may send in a minute. Each call holds a whole template in memory. */
const mostQueuedCalls = 120;

/**
 * Queues the checks of templates, the service's heaviest work. Checks run in pieces, in turn. Each
 * project has a queue, and only the first call of each queue takes part. So projects alternate no
 * matter how many calls one of them makes. A project's calls are answered one by one, and not all
 * of them too late. Calls whose client has left are skipped.
 */
export function createTemplateQueue(runInTurn: RunInTurn): WaitInQueue {
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
        runInTurn(() => {
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

/** The client already got this answer when its time was over. */
function requireActive(signal: QueuedCall["signal"]): void {
  if (signal.hasLeft()) throw overloaded();
}
