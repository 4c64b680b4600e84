import type { Waiter } from "../contract/clock.ts";
import { overloaded } from "../contract/problem.ts";
import type { RunInTurn } from "../template/check-queue.ts";

/** Who wants a template looked over, and whether they still wait for it. */
type Asker = {
  readonly caller: { readonly project: { readonly id: string } };
  readonly signal: Waiter;
};

/** Looks a template over when its call's turn has come. */
export type WaitInQueue = <Result>(
  asker: Asker,
  work: (takeOwnTurn: RunInTurn) => Promise<Result>,
) => Promise<Result>;

type Line = {
  /** Settles when the last call of the line is done. */
  end: Promise<void>;
  calls: number;
};

/** Twice what one key may ask for in a minute; each call holds a whole template in memory. */
const longestLine = 120;

/**
 * Looking templates over is the heaviest thing that can be asked for, and there are turns for it.
 * The calls of one project stand in line, and only the first of them takes turns: so projects
 * alternate, however much one of them asks for, and a project's calls are answered one by one
 * rather than all of them too late. What nobody waits for any more is not done.
 */
export function createTemplateQueue(runInTurn: RunInTurn): WaitInQueue {
  const lines = new Map<string, Line>();
  return ({ caller, signal }, work) => {
    const { id } = caller.project;
    const line = lines.get(id) ?? { end: Promise.resolve(), calls: 0 };
    if (line.calls >= longestLine) return Promise.reject(overloaded());
    lines.set(id, line);
    line.calls += 1;
    const result = line.end.then(() => {
      requireWaiting(signal);
      return work((piece) =>
        runInTurn(() => {
          requireWaiting(signal);
          return piece();
        }),
      );
    });
    const leave = () => {
      line.calls -= 1;
      if (line.calls === 0) lines.delete(id);
    };
    line.end = result.then(leave, leave);
    return result;
  };
}

/** The caller of an aborted one has been told this already. */
function requireWaiting(signal: Waiter): void {
  if (signal.aborted) throw overloaded();
}
