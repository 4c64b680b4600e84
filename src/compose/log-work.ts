import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { Config } from "../config.ts";
import type { Clock } from "../contract/clock.ts";
import type { Watched } from "../contract/watch.ts";
import type { TraceSql } from "../sql/trace-sql.ts";
import { readRequestId, requestIdHeader } from "../text/request-id.ts";
import { clock } from "./embedded.ts";
import type { Watches } from "./join-watches.ts";
import type { Log } from "./log.ts";

export function logWhereAsked(log: Log, { log: level }: Pick<Config, "log">): Watches | undefined {
  return level === "debug" ? logWork(log, clock) : undefined;
}

/**
 * A line for each call, request, visit and statement, with the id of the request that it belongs
 * to: for who looks for what became of one. None has a text that a stranger or an assistant chose.
 */
function logWork({ debug }: Pick<Log, "debug">, { monotonic }: Pick<Clock, "monotonic">): Watches {
  const requests: Requests = new AsyncLocalStorage();

  /** Answers by what it is told that it has ended. */
  function begin(message: string, facts: object, request: string | undefined) {
    const begun = monotonic();
    const known = request === undefined ? {} : { request };
    return (outcome: object) => {
      const ms = Math.round((monotonic() - begun) * 1000) / 1000;
      debug({ ...known, ...facts, ...outcome, ms }, message);
    };
  }

  function watch<Outcome>(
    message: string,
    facts: object,
    request: string | undefined,
    nameOutcome: (outcome: Outcome) => object,
  ): Watched<Outcome> {
    const end = begin(message, facts, request);
    const followed = { request, isOver: false };
    return {
      run: (work) => requests.run(followed, work),
      end: (outcome) => {
        followed.isOver = true;
        end(nameOutcome(outcome));
      },
    };
  }

  return {
    watchRequest: (endpoint, { method, requestId }) => {
      const route = endpoint && { route: endpoint.path };
      return watch("request", { method, ...route }, requestId, nameStatus);
    },
    watchCall: (tool, { requestId } = {}) =>
      watch("tool call", { tool }, requestId ?? requests.getStore()?.request, nameEnd),
    // A visitor gives none, and is told none.
    watchVisit: () => watch("visit", {}, readRequestId(undefined), nameStatus),
    watchMcp: ({ headers }) =>
      watch("message to /mcp", {}, headers[requestIdHeader]?.toString(), nameStatus),
    traceSql: followStatements(requests, begin),
  };
}

const nameStatus = (status: number) => ({ status });
const nameEnd = (end: string) => ({ end });

/** One that has ended may have begun something that goes on without it. */
type Followed = { readonly request: string | undefined; readonly isOver: boolean };
type Requests = AsyncLocalStorage<Followed>;

type Begin = (
  message: string,
  facts: object,
  request: string | undefined,
) => (outcome: object) => void;

const failed = { failed: true };

/** What happens beside requests, many times a second, is left out. */
function followStatements(requests: Requests, begin: Begin): TraceSql {
  return {
    statement: (engine, text, run) => {
      const followed = requests.getStore();
      if (followed === undefined || followed.isOver) return run();
      // All values are parameters, which are not shown.
      const end = begin("statement", { engine, sql: text }, followed.request);
      try {
        const result = run();
        const endWell = () => end({});
        if (result instanceof Promise) result.then(endWell, () => end(failed));
        else endWell();
        return result;
      } catch (error) {
        end(failed);
        throw error;
      }
    },
    // Whoever shares the transaction runs the work, and it is not theirs.
    transaction: (_engine, run) => run(bindHere),
  };
}

function bindHere<Work extends (...given: never[]) => unknown>(work: Work): Work {
  // What is bound takes and answers what it did; Node's types know functions of anything alone.
  const anyWork = work as unknown as (...given: unknown[]) => unknown;
  return AsyncResource.bind(anyWork) as unknown as Work;
}
