import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { endIndex, startIndex } from "../ground/ground.ts";
import { askModern, type HttpSession } from "../load/http-tools.ts";
import { summarizeTimes } from "../load/measure.ts";
import type { HeardAll } from "../load/streams.ts";
import type { Finding, Target } from "../results/finding.ts";
import type { Rounds, Subject } from "./scenario.ts";
import {
  describeFaults,
  describeWaiting,
  findP99,
  jobs,
  measureOnStage,
  pickHeard,
  type Stage,
} from "./stage.ts";

/** What a visitor and an assistant wait while the same server does what takes long. */

/** The budget's pace. */
const jobRowsPerSecond = 10;

export function measureLongWork(subject: Subject): Rounds {
  return measureOnStage(subject, measureRound);
}

async function measureRound(stage: Stage): Promise<readonly Finding[]> {
  const { run, redirects, calls, lists } = stage;
  const alone = await run(redirects, calls);
  const withJobs = await besideJobs(stage, () => run(redirects, calls));
  const withIndex = await besideIndex(stage, () => run(redirects, calls));
  const withLists = await run(redirects, calls, lists());
  const describe = (beside: string, heard: HeardAll, times: Target) => [
    ...describeWaiting(`redirects, ${beside}`, pickHeard(heard, "redirects"), {
      alone: pickHeard(alone, "redirects"),
      times,
    }),
    ...describeWaiting(`get_link, ${beside}`, pickHeard(heard, "calls"), {
      alone: pickHeard(alone, "calls"),
      times,
    }),
  ];
  const longest = summarizeTimes(pickHeard(withLists, "lists").times_ms);
  const windows = [alone, withJobs, withIndex, withLists];
  return [
    { what: "redirects alone, p99", unit: "ms", value: findP99(pickHeard(alone, "redirects")) },
    { what: "get_link alone, p99", unit: "ms", value: findP99(pickHeard(alone, "calls")) },
    ...describe(`${jobs} jobs`, withJobs, {}),
    ...describe("an index build", withIndex, {}),
    ...describe("lists that scan", withLists, { most: 2 }),
    { what: "a list that scans, p50", unit: "ms", value: longest.p50_ms },
    ...describeFaults(windows.flatMap((heard) => Object.values(heard))),
  ];
}

async function besideJobs(
  { ground, server, extent }: Stage,
  work: () => Promise<HeardAll>,
): Promise<HeardAll> {
  // They must not end before the work does.
  const count = jobRowsPerSecond * (extent.seconds + 1);
  const plans: Plan[] = [];
  for (const key of ground.small.keys.slice(0, jobs)) {
    plans.push(await planJob(askModern(server, key), count));
  }
  // Whoever applies a plan is answered when the job is done.
  const [heard, done] = await Promise.all([work(), Promise.all(plans.map(({ apply }) => apply()))]);
  if (done.some((rows) => rows !== count)) throw new Error(`of ${count} rows ${done.join()} done`);
  return heard;
}

type Plan = { readonly apply: () => Promise<number> };

async function planJob({ ask }: HttpSession, count: number): Promise<Plan> {
  const series = randomUUID();
  const rows = Array.from({ length: count }, (_, row) => {
    return { path: `job/${series}/${row}`, url: `https://www.example.com/${row}` };
  });
  const call = async (name: string, args: object) => {
    return (await ask("tools/call", { name, arguments: args })).structuredContent;
  };
  const { plan } = await call("plan_links", { operation: "upsert", rows });
  return { apply: async () => (await call("apply_plan", { plan_id: plan.id })).job.counts.done };
}

async function besideIndex({ ground }: Stage, work: () => Promise<HeardAll>): Promise<HeardAll> {
  const { file, large } = ground;
  await startIndex(file, large);
  // The process looks for such work once a second.
  await setTimeout(1000);
  const heard = await work();
  await endIndex(file, large);
  return heard;
}
