import { setTimeout } from "node:timers/promises";
import type { Config } from "../../config.ts";
import type { McpHttp } from "../../mcp/transport/http.ts";
import type { AnswerScrape } from "../../metrics/answer-scrape.ts";
import type { MetricSources } from "../../metrics/pulled.ts";
import type { State } from "../../state/state.ts";
import type { Store } from "../../store/store.ts";
import { listWebhooks, type Webhook } from "../../store/webhooks.ts";
import type { Deliverer } from "../../webhooks/deliverer.ts";
import type { Assistant } from "./assistant.ts";
import type { Deployment } from "./deployment.ts";
import { readGivenSecret } from "../data/secrets.ts";

/** Opens the metrics, which need a token to read. Returns undefined if no token is set. */
export async function openMetrics(config: Config) {
  const token = readGivenSecret(config, "metrics_token");
  if (token === undefined) return undefined;
  // Loaded on demand, because most processes have no metrics.
  const { createMetrics } = await import("../../metrics/metrics.ts");
  const { createScrapeAnswers } = await import("../../metrics/answer-scrape.ts");
  const { contentType, write, ...counts } = createMetrics();
  return {
    ...counts,
    createAnswers: (parts: MeasuredParts): AnswerScrape => {
      const writeAll = async () => write(await readSources(parts));
      return createScrapeAnswers({ token, contentType, write: writeAll, report: parts.report });
    },
  };
}

type MeasuredParts = {
  readonly deployment: Deployment;
  readonly assistant: Assistant;
  readonly mcp: Pick<McpHttp, "measure">;
  readonly deliverer: Pick<Deliverer, "measure"> | undefined;
  readonly report: (error: unknown) => unknown;
};

/** How long to wait for the store, so that a slow store does not delay the other metrics. */
const countWithin_ms = 500;

async function readSources({
  deployment,
  assistant,
  mcp,
  deliverer,
}: MeasuredParts): Promise<MetricSources> {
  const { own, state } = deployment;
  const opened = state.peek();
  const { jobs, decisions } = assistant.measure();
  const asked = opened?.approvals.measure() ?? { asked: 0, expired: 0 };
  return {
    commits: countCommits(own, opened),
    pool: own?.store.measurePool?.(),
    clicks: own?.clicks.measure(),
    jobs,
    approvals: { ...asked, ...decisions },
    connections: mcp.measure(),
    deliveries: deliverer?.measure(),
    events: own && (await countEvents(own.store)),
  };
}

function countCommits(own: Deployment["own"], opened: State | undefined): MetricSources["commits"] {
  // PostgreSQL has the store and the state in one database and counts their commits together.
  const ofState = own?.stateTables === undefined ? opened : undefined;
  return {
    ...(own && { links: own.store.countWrites() }),
    ...(ofState && { state: ofState.countWrites() }),
  };
}

/** Returns undefined if the store does not respond in time. */
async function countEvents({ db }: Pick<Store, "db">): Promise<MetricSources["events"]> {
  const late = setTimeout(countWithin_ms, undefined, { ref: false });
  return Promise.race([late, listWebhooks(db).then(sumEvents, () => undefined)]);
}

function sumEvents(webhooks: readonly Webhook[]): NonNullable<MetricSources["events"]> {
  const sum = (name: "waiting" | "dead" | "dropped") =>
    webhooks.reduce((total, webhook) => total + webhook[name], 0);
  return { waiting: sum("waiting"), given_up: sum("dead"), dropped: sum("dropped") };
}
