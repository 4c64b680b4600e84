import { collectDefaultMetrics, Counter, Histogram, Registry } from "prom-client";
import type { CarriedRequest } from "../contract/api-message.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { addPulled, type MetricSources } from "./pulled.ts";

/** Counts and times the work of a process, for Prometheus. */

/** Counts finished operations, and records how many seconds each took. */
export type WorkCounts = {
  readonly countRequest: (
    asked: { readonly endpoint: Endpoint | undefined; readonly request: CarriedRequest },
    status: number,
    seconds: number,
  ) => void;
  /** `tool` is undefined if no such tool exists. */
  readonly countCall: (tool: string | undefined, outcome: string, seconds: number) => void;
  readonly countVisit: (status: number, seconds: number) => void;
  readonly countMessage: (status: number) => void;
};

/** This process's metrics for Prometheus. Labels never contain text from callers or visitors. */
export type Metrics = WorkCounts & {
  readonly contentType: string;
  readonly write: (sources: MetricSources) => Promise<string>;
};

/** The upper bounds of histogram buckets, from a cached read to a timeout. */
const callBuckets_s = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 45,
];
const visitBuckets_s = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1, 5];
/** The label for unknown tools and endpoints. */
const other = "other";

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const setPulled = addPulled(registry);
  const registers = [registry];
  const count = (name: string, help: string, labelNames: readonly string[]) =>
    new Counter({ name, help, labelNames: [...labelNames], registers });
  const measure = (name: string, help: string, labelNames: string[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const requests = count("waypost_requests_total", "API requests", ["route", "status"]);
  const limited = count("waypost_budget_refusals_total", "Requests rejected with status 429", [
    "budget",
  ]);
  const calls = count(
    "waypost_tool_calls_total",
    "Tool calls, by outcome: ok, asked (for approval) or an error code",
    ["tool", "outcome"],
  );
  const messages = count("waypost_mcp_requests_total", "Messages to /mcp", ["status"]);
  const visits = count("waypost_visits_total", "Requests to link hosts", ["status"]);
  const requestTimes = measure(
    "waypost_request_seconds",
    "Duration of API requests",
    ["route"],
    callBuckets_s,
  );
  const callTimes = measure(
    "waypost_tool_call_seconds",
    "Duration of tool calls, including the wait for a person's answer in the same call",
    ["tool"],
    callBuckets_s,
  );
  const visitTimes = measure(
    "waypost_visit_seconds",
    "Duration of requests to link hosts",
    [],
    visitBuckets_s,
  );

  return {
    countRequest: ({ endpoint, request }, status, seconds) => {
      if (status === 429) limited.inc({ budget: endpoint?.budget ?? "address" });
      // Requests without an IP address come from tools, and are counted as tool calls.
      if (request.address === undefined) return;
      const route = nameRoute(endpoint);
      requests.inc({ route, status: nameClass(status) });
      requestTimes.observe({ route }, seconds);
    },
    countCall: (tool = other, outcome, seconds) => {
      calls.inc({ tool, outcome });
      callTimes.observe({ tool }, seconds);
    },
    countVisit: (status, seconds) => {
      visits.inc({ status: nameClass(status) });
      visitTimes.observe(seconds);
    },
    countMessage: (status) => messages.inc({ status: nameClass(status) }),
    contentType: registry.contentType,
    write: (sources) => {
      setPulled(sources);
      return registry.metrics();
    },
  };
}

function nameClass(status: number): string {
  return `${Math.floor(status / 100)}xx`;
}

function nameRoute(endpoint: Endpoint | undefined): string {
  return endpoint === undefined ? other : `${endpoint.method} ${endpoint.path}`;
}
