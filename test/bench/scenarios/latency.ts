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

async function measureRound({ run, redirects, creates }: Stage): Promise<readonly Finding[]> {
  const alone = pickHeard(await run(redirects), "redirects");
  const heard = await run(redirects, creates());
  const [visited, created] = [pickHeard(heard, "redirects"), pickHeard(heard, "creates")];
  const targets = { alone, most: { most: 15 }, times: { most: 3 } };
  return [
    { what: "redirects alone, p50", unit: "ms", value: summarizeTimes(alone.times_ms).p50_ms },
    { what: "redirects alone, p99", unit: "ms", value: findP99(alone) },
    ...describeWaiting(`redirects, ${createsPerSecond} creates a second`, visited, targets),
    { what: "creates meanwhile, p99", unit: "ms", value: findP99(created) },
    ...describeFaults([alone, visited, created]),
  ];
}
