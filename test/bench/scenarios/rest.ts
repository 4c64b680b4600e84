import { openBeside, type Beside } from "../load/beside.ts";
import type { Question } from "../load/ask.ts";
import { createRing } from "../ring.ts";
import { serve } from "../servers/http-server.ts";
import { noDearer, type Finding, type Target } from "../results/finding.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** One link and one page of links over REST, beside a bare `node:http` that says the same. */

const perSecond = 1000;

export async function* measureRest({ build, extent, findGround }: Subject): Rounds {
  const { file, large, samples } = await findGround();
  await using server = await serve(build, file.folder);
  const nextKey = createRing(large.keys);
  const single = samples.map(({ id }) => ({ path: `/api/v1/links/${id}`, token: nextKey() }));
  const pages = large.keys.map((token) => ({ path: "/api/v1/links?limit=20", token }));
  const open = (questions: readonly Question[]) => {
    const [first = { path: "/" }] = questions;
    return openBeside(server, first, { requests: extent.warming, status: 200, questions });
  };
  await using besideSingle = await open(single);
  await using besidePages = await open(pages);
  for (;;) {
    const measure = (beside: Beside, questions: readonly Question[]) => {
      return beside.measure({ requests: perSecond * extent.seconds, status: 200, questions });
    };
    yield [
      ...describe("GET /links/:id", await measure(besideSingle, single), {
        most: 2.5,
      }),
      ...describe("GET /links, 20 of them", await measure(besidePages, pages), {}),
    ];
  }
}

function describe(
  what: string,
  { ours, bare }: Awaited<ReturnType<Beside["measure"]>>,
  target: Target,
): readonly Finding[] {
  return [
    { what: `${what}, CPU`, unit: "µs", value: ours.cpu_us, target: noDearer },
    { what: `${what}, CPU of node:http`, unit: "times", value: ours.cpu_us / bare.cpu_us, target },
    {
      what: `${what}, rate of node:http`,
      unit: "times",
      value: ours.per_second / bare.per_second,
    },
  ];
}
