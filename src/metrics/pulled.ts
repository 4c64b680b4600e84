import { Counter, Gauge, type Registry } from "prom-client";

/** Metrics that are collected on each Prometheus scrape. */

export type MetricSources = {
  readonly commits: Readonly<Record<string, number>>;
  /** Undefined for SQLite, which has no connection pool. */
  readonly pool?: PoolCounts | undefined;
  readonly clicks?: ClickCounts | undefined;
  readonly jobs: JobRunCounts;
  readonly approvals: Readonly<Record<"asked" | "given" | "refused" | "expired", number>>;
  readonly connections: ConnectionCounts;
  /** The results of webhook deliveries by this process. */
  readonly deliveries?: Readonly<Record<"delivered" | "failed" | "given_up", number>> | undefined;
  /** The webhook events in the outbox; undefined if the database could not be read. */
  readonly events?: Readonly<Record<"waiting" | "given_up" | "dropped", number>> | undefined;
};

type PoolCounts = Readonly<Record<"open" | "idle" | "waiting", number>>;
type ClickCounts = Readonly<Record<"counted" | "written" | "waiting" | "lost", number>>;
type JobRunCounts = {
  readonly running: number;
  readonly waiting: number;
  readonly ended: Readonly<Record<string, number>>;
};
type ConnectionCounts = Readonly<Record<"sessions" | "streams" | "calls", number>>;

type LabeledValues = Readonly<Record<string, number | undefined>>;
type PulledMetric = {
  readonly name: string;
  readonly help: string;
  readonly label?: string;
  readonly read: (sources: MetricSources) => LabeledValues;
};

const counters: readonly PulledMetric[] = [
  {
    name: "waypost_store_commits_total",
    help: 'Committed transactions; with PostgreSQL, all count as "links"',
    label: "store",
    read: ({ commits }) => commits,
  },
  {
    name: "waypost_clicks_total",
    help: "Clicks that were counted, written to the store, or lost",
    label: "state",
    read: ({ clicks }) => (clicks === undefined ? {} : { ...clicks, waiting: undefined }),
  },
  {
    name: "waypost_jobs_ended_total",
    help: "Job runs that ended in this process, by the state of the job",
    label: "state",
    read: ({ jobs }) => jobs.ended,
  },
  {
    name: "waypost_approvals_total",
    help: "Approvals, by outcome: asked for, given, refused or expired",
    label: "outcome",
    read: ({ approvals }) => approvals,
  },
  {
    name: "waypost_webhook_deliveries_total",
    help: "Webhook deliveries that were accepted or failed, and events that failed permanently",
    label: "outcome",
    read: ({ deliveries = {} }) => deliveries,
  },
];

const gauges: readonly PulledMetric[] = [
  {
    name: "waypost_pool_connections",
    help: "Database connections that are open or idle, and requests waiting for a connection",
    label: "state",
    read: ({ pool = {} }) => pool,
  },
  {
    name: "waypost_clicks_waiting",
    help: "Counted clicks that are not yet written to the store",
    read: ({ clicks }) => ({ "": clicks?.waiting }),
  },
  {
    name: "waypost_jobs",
    help: "Jobs running in this process, and jobs waiting for another process to release them",
    label: "state",
    read: ({ jobs: { running, waiting } }) => ({ running, waiting }),
  },
  {
    name: "waypost_mcp_connections",
    help: "MCP sessions of earlier protocol versions, notification streams, and running calls",
    label: "kind",
    read: ({ connections }) => connections,
  },
  {
    name: "waypost_webhook_events",
    help: "Webhook events that are waiting, have failed permanently, or were dropped",
    label: "state",
    read: ({ events = {} }) => events,
  },
];

/** Registers the metrics, and returns a function that sets their values. */
export function addPulled(registry: Registry): (sources: MetricSources) => void {
  const sets = [
    ...counters.map(({ label, ...pulled }) => {
      const options = { ...pulled, labelNames: label === undefined ? [] : [label] };
      const counter = new Counter({ ...options, registers: [registry] });
      return { ...pulled, label, reset: () => counter.reset(), add: counter.inc.bind(counter) };
    }),
    ...gauges.map(({ label, ...pulled }) => {
      const options = { ...pulled, labelNames: label === undefined ? [] : [label] };
      const gauge = new Gauge({ ...options, registers: [registry] });
      return { ...pulled, label, reset: () => gauge.reset(), add: gauge.set.bind(gauge) };
    }),
  ];
  return (sources) => {
    for (const { label, read, reset, add } of sets) {
      reset();
      for (const [name, value] of Object.entries(read(sources))) {
        if (value !== undefined) add(label === undefined ? {} : { [label]: name }, value);
      }
    }
  };
}
