import type { Watched, WatchHttp } from "../contract/watch.ts";
import type { Host } from "../host/host.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Traces } from "../traces/traces.ts";
import type { McpCarrier } from "./http-server.ts";

/** What is told of the work of this process: metrics, traces, both or neither. */
type Watches = Partial<Pick<Metrics, "watchRequest" | "watchCall" | "watchVisit" | "watchMcp">>;

export function joinWatches(metrics: Watches | undefined, traces: Traces | undefined): Watches {
  if (metrics === undefined) return traces ?? {};
  if (traces === undefined) return metrics;
  return {
    watchRequest: join(metrics.watchRequest, traces.watchRequest),
    watchCall: join(metrics.watchCall, traces.watchCall),
    watchVisit: join(metrics.watchVisit, traces.watchVisit),
    watchMcp: join(metrics.watchMcp, traces.watchMcp),
  };
}

type Watch<Facts extends readonly unknown[], Outcome> = (...facts: Facts) => Watched<Outcome>;

function join<Facts extends readonly unknown[], Outcome>(
  one: Watch<Facts, Outcome> | undefined,
  other: Watch<Facts, Outcome>,
): Watch<Facts, Outcome> {
  if (one === undefined) return other;
  return (...facts) => {
    const both = [one(...facts), other(...facts)] as const;
    return {
      run: (work) => both[0].run(() => both[1].run(work)),
      end: (outcome) => both.forEach(({ end }) => end(outcome)),
    };
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
