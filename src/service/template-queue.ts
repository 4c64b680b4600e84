import type { Waiter } from "../contract/clock.ts";
import { overloaded } from "../contract/problem.ts";
import type { RunInTurn } from "../template/check-queue.ts";

/** A call that needs a template checked, and whether its client still waits for it. */
type QueuedCall = {
  readonly caller: { readonly project: { readonly id: string } };
  readonly signal: Pick<Waiter, "hasLeft">;
};

/** Does the work of a call, a template's check say, when the calls before it are done. */
export type WaitInQueue = <Result>(
  call: QueuedCall,
  work: (takeOwnTurn: RunInTurn) => Promise<Result>,
) => Promise<Result>;

type Queue = {
  /** Resolves when the last call of the queue is done. */
  end: Promise<void>;
  calls: number;
};

/** Twice what one key may ask for in a minute; each call holds a whole template in memory. */
const mostQueuedCalls = 120;

/**
 * Checking templates is the heaviest work of the service, so it is done in pieces, in turn. Each
 * project has a queue of calls, and only the first call of each takes part: so projects alternate,
 * however many calls one of them makes, and a project's calls are answered one by one rather than
 * all of them too late. The work of a call whose client has left is not done.
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

/** A client that was answered that it took too long has had this answer already. */
function requireActive(signal: QueuedCall["signal"]): void {
  if (signal.hasLeft()) throw overloaded();
}
