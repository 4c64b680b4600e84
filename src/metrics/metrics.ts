import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client";
import type { Clock } from "../contract/clock.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { Watched, WatchCall, WatchHttp, WatchRequest } from "../contract/watch.ts";
import { addPulled, type Sources } from "./pulled.ts";

/** What the process does, in numbers that Prometheus reads. No label is a stranger's text. */
export type Metrics = {
  readonly watchRequest: WatchRequest;
  readonly watchCall: WatchCall;
  readonly watchVisit: WatchHttp;
  readonly watchMcp: WatchHttp;
  readonly contentType: string;
  readonly write: (sources: Sources) => Promise<string>;
};

/** From a read out of a cache to a call that uses all of its time (client.ts). */
const callBuckets_s = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 45,
];
const visitBuckets_s = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];
/** Whatever no tool and no endpoint has for a name. */
const other = "other";

export function createMetrics({ monotonic }: Pick<Clock, "monotonic">): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const setPulled = addPulled(registry);
  const registers = [registry];
  const count = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames: [...labelNames], registers });
  const measure = (name: string, help: string, labelNames: string[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const requests = count("waypost_requests_total", "Requests of the API", ["route", "status"]);
  const limited = count("waypost_budget_refusals_total", "Requests answered 429", ["budget"]);
  const calls = count("waypost_tool_calls_total", "Calls of tools", ["tool", "outcome"]);
  const messages = count("waypost_mcp_requests_total", "Messages to /mcp", ["status"]);
  const visits = count("waypost_visits_total", "Requests to hosts of links", ["status"]);
  const requestTimes = measure(
    "waypost_request_seconds",
    "How long requests of the API took",
    ["route"],
    callBuckets_s,
  );
  const callTimes = measure(
    "waypost_tool_call_seconds",
    "How long calls of tools took, the wait for a person's answer in the same call included",
    ["tool"],
    callBuckets_s,
  );
  const visitTimes = measure(
    "waypost_visit_seconds",
    "How long requests to hosts of links took",
    [],
    visitBuckets_s,
  );
  const nameRoute = createRouteNames();
  const begin = createStopwatch(monotonic);

  return {
    watchRequest: (endpoint, { address }) =>
      begin((status: number, seconds) => {
        if (status === 429) limited.inc({ budget: endpoint?.budget ?? "address" });
        // A tool's own requests are told of as its call.
        if (address === undefined) return;
        const route = nameRoute(endpoint);
        requests.inc({ route, status: nameClass(status) });
        requestTimes.observe({ route }, seconds);
      }),
    watchCall: (tool = other) =>
      begin((outcome: string, seconds) => {
        calls.inc({ tool, outcome });
        callTimes.observe({ tool }, seconds);
      }),
    watchVisit: () =>
      begin((status: number, seconds) => {
        visits.inc({ status: nameClass(status) });
        visitTimes.observe(seconds);
      }),
    watchMcp: () => begin((status: number) => messages.inc({ status: nameClass(status) })),
    contentType: registry.contentType,
    write: (sources) => {
      setPulled(sources);
      return registry.metrics();
    },
  };
}

/** Calls back with the seconds that passed until the end of the work, once. */
function createStopwatch(monotonic: Clock["monotonic"]) {
  return <Outcome>(onEnd: (outcome: Outcome, seconds: number) => void): Watched<Outcome> => {
    const begun = monotonic();
    return {
      run: (work) => work(),
      end: (outcome) => onEnd(outcome, (monotonic() - begun) / 1000),
    };
  };
}

function nameClass(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

/** Each endpoint's name is put together once. */
function createRouteNames(): (endpoint: Endpoint | undefined) => string {
  const names = new WeakMap<Endpoint, string>();
  return (endpoint) => {
    if (endpoint === undefined) return other;
    const known = names.get(endpoint) ?? `${endpoint.method} ${endpoint.path}`;
    names.set(endpoint, known);
    return known;
  };
}
