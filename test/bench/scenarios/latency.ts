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
  type Loads,
} from "./stage.ts";

/** The time of a redirect while the server also writes, and while it does nothing else. */

export function measureLatency(subject: Subject): Rounds {
  return measureOnStage(subject, measureRound);
}

async function measureRound({ run, redirects, creates }: Loads): Promise<readonly Finding[]> {
  const unloaded = pickHeard(await run(redirects), "redirects");
  const heard = await run(redirects, creates());
  const [visited, created] = [pickHeard(heard, "redirects"), pickHeard(heard, "creates")];
  const targets = { unloaded, most: { most: 15 }, times: { most: 3 } };
  return [
    {
      what: "redirects without other load, p50",
      unit: "ms",
      value: summarizeTimes(unloaded.times_ms).p50_ms,
    },
    { what: "redirects without other load, p99", unit: "ms", value: findP99(unloaded) },
    ...describeWaiting(`redirects during ${createsPerSecond} creates a second`, visited, targets),
    { what: "creates meanwhile, p99", unit: "ms", value: findP99(created) },
    ...describeFaults([unloaded, visited, created]),
  ];
}
