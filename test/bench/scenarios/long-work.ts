import { summarizeTimes } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import type { Rounds, Subject } from "./scenario.ts";
import {
  describeFaults,
  describeWaiting,
  findP99,
  measureOnStage,
  pickHeard,
  type Stage,
} from "./stage.ts";

/** What a visitor and an assistant wait while the same server answers lists that scan a project. */

export function measureLongWork(subject: Subject): Rounds {
  return measureOnStage(subject, measureRound);
}

async function measureRound({ run, redirects, calls, lists }: Stage): Promise<readonly Finding[]> {
  const alone = await run(redirects, calls);
  const beside = await run(redirects, calls, lists());
  const compare = (what: string, name: string): readonly Finding[] => {
    const heard = pickHeard(alone, name);
    return [
      { what: `${what} alone, p99`, unit: "ms", value: findP99(heard) },
      ...describeWaiting(`${what}, lists that scan`, pickHeard(beside, name), {
        alone: heard,
        times: { most: 3 },
      }),
    ];
  };
  const longest = summarizeTimes(pickHeard(beside, "lists").times_ms);
  return [
    ...compare("redirects", "redirects"),
    ...compare("get_link", "calls"),
    { what: "a list that scans, p50", unit: "ms", value: longest.p50_ms },
    ...describeFaults([alone, beside].flatMap((heard) => Object.values(heard))),
  ];
}
