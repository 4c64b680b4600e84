import type { Config } from "../../config.ts";
import type { AnswerScrape } from "../../metrics/answer-scrape.ts";
import type { WorkCounts } from "../../metrics/metrics.ts";
import type { MetricSources } from "../../metrics/pulled.ts";
import type { State } from "../../state/state.ts";
import type { Store } from "../../store/store.ts";
import { listWebhooks, type Webhook } from "../../store/webhooks.ts";
import type { Deliverer } from "../../webhooks/deliverer.ts";
import type { Assistant } from "./assistant.ts";
import type { Deployment } from "./deployment.ts";
import { setAlarm } from "./embedded.ts";
import { readMetricsToken } from "../data/secrets.ts";

/** What is measured, and shown to who has the token; undefined where there is none. */
export type OpenMetrics = WorkCounts & {
  readonly createAnswers: (
    readSources: () => Promise<MetricSources>,
    report: (error: unknown) => unknown,
  ) => AnswerScrape;
};

export async function openMetrics(config: Config): Promise<OpenMetrics | undefined> {
  const token = readMetricsToken(config);
  if (token === undefined) return undefined;
  // Most processes are measured by nobody, and need not load what does it.
  const { createMetrics } = await import("../../metrics/metrics.ts");
  const { createScrapeAnswers } = await import("../../metrics/answer-scrape.ts");
  const { contentType, write, ...counts } = createMetrics();
  return {
    ...counts,
    createAnswers: (readSources, report) => {
      const writeOwn = async () => write(await readSources());
      return createScrapeAnswers({ token, contentType, write: writeOwn, report });
    },
  };
}

type Parts = {
  readonly deployment: Deployment;
  readonly assistant: Assistant;
  readonly connections: MetricSources["connections"];
  readonly deliverer: Pick<Deliverer, "measure"> | undefined;
};

/** A store that is away keeps nobody from the rest. */
const countWithin_ms = 500;

export async function readSources(parts: Parts): Promise<MetricSources> {
  const { assistant, connections, deliverer } = parts;
  const { own, state } = parts.deployment;
  const opened = state.peek();
  const { jobs, decisions } = assistant.measure();
  const asked = opened?.approvals.measure() ?? { asked: 0, expired: 0 };
  return {
    commits: countCommits(own, opened),
    pool: own?.store.measurePool?.(),
    clicks: own?.clicks.measure(),
    jobs,
    approvals: { ...asked, ...decisions },
    connections,
    deliveries: deliverer?.measure(),
    events: own && (await countEvents(own.store)),
  };
}

function countCommits(own: Deployment["own"], opened: State | undefined): MetricSources["commits"] {
  // PostgreSQL has both in one database, whose commits are counted together.
  const ofState = own?.stateTables === undefined ? opened : undefined;
  return {
    ...(own && { links: own.store.countWrites() }),
    ...(ofState && { state: ofState.countWrites() }),
  };
}

/** Undefined where the store does not tell in time. */
async function countEvents({ db }: Pick<Store, "db">): Promise<MetricSources["events"]> {
  let stopAlarm: (() => void) | undefined;
  const late = new Promise<undefined>((resolve) => {
    stopAlarm = setAlarm(countWithin_ms, () => resolve(undefined));
  });
  const counted = listWebhooks(db)
    .then(sumEvents)
    .catch(() => undefined);
  return Promise.race([counted, late]).finally(stopAlarm);
}

function sumEvents(webhooks: readonly Webhook[]): NonNullable<MetricSources["events"]> {
  const sum = (name: "waiting" | "dead" | "dropped") =>
    webhooks.reduce((total, webhook) => total + webhook[name], 0);
  return { waiting: sum("waiting"), given_up: sum("dead"), dropped: sum("dropped") };
}
