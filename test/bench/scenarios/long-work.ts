import { summarizeTimes } from "../load/measure.ts";
import type { Finding } from "../results/finding.ts";
import type { Rounds, Subject } from "./scenario.ts";
import {
  describeFaults,
  describeWaiting,
  findP99,
  measureOnStage,
  pickHeard,
  type Loads,
} from "./stage.ts";

/** The time of redirects and tool calls while the server also answers lists that scan a project. */

export function measureLongWork(subject: Subject): Rounds {
  return measureOnStage(subject, measureRound);
}

async function measureRound({ run, redirects, calls, lists }: Loads): Promise<readonly Finding[]> {
  const unloaded = await run(redirects, calls);
  const loaded = await run(redirects, calls, lists());
  const compare = (what: string, name: string): readonly Finding[] => {
    const heard = pickHeard(unloaded, name);
    return [
      { what: `${what} without other load, p99`, unit: "ms", value: findP99(heard) },
      ...describeWaiting(`${what} during lists that scan`, pickHeard(loaded, name), {
        unloaded: heard,
        times: { most: 3 },
      }),
    ];
  };
  const longest = summarizeTimes(pickHeard(loaded, "lists").times_ms);
  return [
    ...compare("redirects", "redirects"),
    ...compare("get_link", "calls"),
    { what: "a list that scans, p50", unit: "ms", value: longest.p50_ms },
    ...describeFaults([unloaded, loaded].flatMap((heard) => Object.values(heard))),
  ];
}
