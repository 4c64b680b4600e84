import type { Config } from "../config.ts";
import type { AnswerScrape } from "../metrics/answer-scrape.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Sources } from "../metrics/pulled.ts";
import type { Numbers } from "../metrics/sum-processes.ts";
import type { Assistant } from "./assistant.ts";
import type { Deployment } from "./deployment.ts";
import { clock } from "./embedded.ts";
import type { LazyState } from "./lazy-state.ts";
import { readMetricsToken } from "./secrets.ts";

/** What is measured, and shown to who has the token; undefined where there is none. */
export type OpenMetrics = Pick<Metrics, "watchRequest" | "watchCall" | "watchVisit"> & {
  readonly createAnswers: (
    readSources: () => Sources,
    report: (error: unknown) => unknown,
    /** Where there are others: answers what all have measured, and tells them what this one has. */
    shareNumbers?: ShareNumbers,
  ) => AnswerScrape;
};

export type ShareNumbers = (readOwn: () => Promise<Numbers>) => () => Promise<string>;

export async function openMetrics(config: Config): Promise<OpenMetrics | undefined> {
  const token = readMetricsToken(config);
  if (token === undefined) return undefined;
  // Most processes are measured by nobody, and need not load what does it.
  const { createMetrics } = await import("../metrics/metrics.ts");
  const { createScrapeAnswers } = await import("../metrics/answer-scrape.ts");
  const { contentType, write, readNumbers, ...watches } = createMetrics(clock);
  return {
    ...watches,
    createAnswers: (readSources, report, shareNumbers) => {
      const writeAll = shareNumbers?.(() => readNumbers(readSources()));
      const writeOwn = () => write(readSources());
      return createScrapeAnswers({ token, contentType, write: writeAll ?? writeOwn, report });
    },
  };
}

type Parts = {
  readonly own: Deployment["own"];
  readonly state: LazyState;
  readonly assistant: Assistant;
  readonly connections: Sources["connections"];
};

export function readSources({ own, state, assistant, connections }: Parts): Sources {
  const opened = state.peek();
  const { jobs, decisions } = assistant.measure();
  const asked = opened?.approvals.measure() ?? { asked: 0, expired: 0 };
  return {
    stores: {
      ...(own && { links: own.store.measure() }),
      ...(opened && { state: opened.measure() }),
    },
    clicks: own?.clicks.measure(),
    jobs,
    approvals: { ...asked, ...decisions },
    connections,
  };
}
