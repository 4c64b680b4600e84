import { findMedian, joinSamples, summarize, type Figures, type Sample } from "./measure.ts";
import type { Row } from "./table.ts";

/** Ours and what it is measured beside. */
export type Contest<Subject> = {
  readonly ours: Subject;
  readonly rival: Subject;
  /** What the rival's row is called: "bare". */
  readonly name: string;
};

/** What one of the two costs in one round. */
export type Measure<Subject> = (subject: Subject) => Promise<Sample>;

/**
 * The two take turns; the ratio is the median of the rounds' ratios, for what else runs on the
 * machine slows both of a round in the same way.
 */
export async function compete<Subject>(
  what: string,
  { ours, rival, name }: Contest<Subject>,
  measure: Measure<Subject>,
  rounds: number,
  target: NonNullable<Row["target"]>,
): Promise<readonly Row[]> {
  const taken: { readonly ours: Sample; readonly rival: Sample }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // Neither is always the one that finds the machine warm.
    if (round % 2 === 0) taken.push({ rival: await measure(rival), ours: await measure(ours) });
    else taken.push({ ours: await measure(ours), rival: await measure(rival) });
  }
  const ratio = findMedian(taken.map((pair) => readCost(pair.ours) / readCost(pair.rival)));
  return [
    { what: `${name} ${what}`, figures: describe(taken.map((pair) => pair.rival)), ratio: 1 },
    { what, figures: describe(taken.map((pair) => pair.ours)), ratio, target },
  ];
}

function describe(samples: readonly Sample[]): Figures {
  return { ...summarize(joinSamples(samples)), cpu_us: findMedian(samples.map(readCost)) };
}

/** For each request: within a second one of the two may answer more of them. */
function readCost({ cpu_us, times_ms }: Sample): number {
  return cpu_us / times_ms.length;
}
