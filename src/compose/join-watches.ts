import type { WatchCall, Watched, WatchHttp, WatchRequest } from "../contract/watch.ts";
import type { Host } from "../host/host.ts";
import type { TraceSql } from "../sql/trace-sql.ts";
import type { McpCarrier } from "./http-server.ts";

/** What is told of the work of this process: metrics, traces, the log, or none of them. */
export type Watches = {
  readonly watchRequest?: WatchRequest | undefined;
  readonly watchCall?: WatchCall | undefined;
  readonly watchVisit?: WatchHttp | undefined;
  readonly watchMcp?: WatchHttp | undefined;
  readonly traceSql?: TraceSql | undefined;
};

export function joinWatches(...all: readonly (Watches | undefined)[]): Watches {
  return all.reduce<Watches>((joined, more = {}) => {
    return {
      watchRequest: join(joined.watchRequest, more.watchRequest),
      watchCall: join(joined.watchCall, more.watchCall),
      watchVisit: join(joined.watchVisit, more.watchVisit),
      watchMcp: join(joined.watchMcp, more.watchMcp),
      traceSql: joinSql(joined.traceSql, more.traceSql),
    };
  }, {});
}

type Watch<Facts extends readonly unknown[], Outcome> = (...facts: Facts) => Watched<Outcome>;

function join<Facts extends readonly unknown[], Outcome>(
  one: Watch<Facts, Outcome> | undefined,
  other: Watch<Facts, Outcome> | undefined,
): Watch<Facts, Outcome> | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return (...facts) => {
    const both = [one(...facts), other(...facts)] as const;
    return {
      run: (work) => both[0].run(() => both[1].run(work)),
      end: (outcome) => both.forEach(({ end }) => end(outcome)),
    };
  };
}

function joinSql(one: TraceSql | undefined, other: TraceSql | undefined): TraceSql | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return {
    statement: (engine, text, run) =>
      one.statement(engine, text, () => other.statement(engine, text, run)),
    transaction: (engine, run) =>
      one.transaction(engine, (own) =>
        other.transaction(engine, (others) => run((work) => own(others(work)))),
      ),
  };
}

/** Watches what is a host of links' to answer. */
export function watchHost(host: Host, watchVisit: WatchHttp | undefined): Host {
  if (watchVisit === undefined) return host;
  return {
    answer: async (request, response, hostname, otherwise) => {
      const { run, end } = watchVisit(request);
      let isVisit = true;
      await run(() =>
        host.answer(request, response, hostname, () => {
          isVisit = false;
        }),
      );
      if (isVisit) end(response.statusCode);
      else otherwise();
    },
  };
}

/** Watches messages of clients. What they only listen to ends when they leave. */
export function watchMcp(mcp: McpCarrier, watch: WatchHttp | undefined): McpCarrier {
  if (watch === undefined) return mcp;
  return {
    ...mcp,
    answer: (request, ...rest) => {
      if (request.method !== "POST") return mcp.answer(request, ...rest);
      const [response] = rest;
      const { run, end } = watch(request);
      response.once("close", () => end(response.statusCode));
      return run(() => mcp.answer(request, ...rest));
    },
  };
}
