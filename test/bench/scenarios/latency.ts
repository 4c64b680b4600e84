import { summarizeTimes } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import type { Rounds, Subject } from "./scenario.ts";
import {
  createsPerSecond,
  describeFaults,
  describeWaiting,
  findP99,
  measureOnStage,
  pickHeard,
  type Stage,
} from "./stage.ts";

/** What a visitor waits while the same server writes for others, and while it does nothing else. */

export function measureLatency(subject: Subject): Rounds {
  return measureOnStage(subject, measureRound);
}

async function measureRound(stage: Stage): Promise<readonly Finding[]> {
  const { run, redirects, creates } = stage;
  const alone = pickHeard(await run(redirects), "redirects");
  const { result, shares } = await readShares(stage, () => run(redirects, creates()));
  const [visited, created] = [pickHeard(result, "redirects"), pickHeard(result, "creates")];
  const writing = `${createsPerSecond} creates a second`;
  return [
    { what: "redirects alone, p50", unit: "ms", value: summarizeTimes(alone.times_ms).p50_ms },
    { what: "redirects alone, p99", unit: "ms", value: findP99(alone) },
    ...describeWaiting(`redirects, ${writing}`, visited, {
      alone,
      most: { most: 15 },
      times: { most: 3 },
    }),
    { what: "creates meanwhile, p99", unit: "ms", value: findP99(created) },
    { what: `of a core: the server, ${writing}`, unit: "%", value: shares.server },
    { what: "of a core: the load itself", unit: "%", value: shares.load },
    ...describeFaults([alone, visited, created]),
  ];
}

/** How much of a core both took: where the load has no rest, it measures itself. */
async function readShares<Result>(
  { server, load, extent }: Stage,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly shares: { server: number; load: number } }> {
  const read = async () => ({ server: await server.readCpu_us(), load: load.readCpu_us() });
  const before = await read();
  const result = await work();
  const after = await read();
  const share = (used_us: number) => used_us / (extent.seconds * 10_000);
  const shares = {
    server: share(after.server - before.server),
    load: share(after.load - before.load),
  };
  return { result, shares };
}
