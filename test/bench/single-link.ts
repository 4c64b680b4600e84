import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Ground } from "./ground.ts";
import { ask, fire, startServer, type Server } from "./http.ts";
import { joinSamples, summarize, type Sample } from "./measure.ts";
import type { Row } from "./table.ts";

/** `GET /links/:id` beside a bare `node:http` that says the same; the two take turns. */

const rounds = 4;

export async function measureSingleLink(
  waypost: Server,
  { large, samples }: Ground,
  seconds: number,
): Promise<readonly Row[]> {
  const [token = ""] = large.keys;
  const questions = samples.map(({ id }) => ({ path: `/api/v1/links/${id}`, token }));
  const [first = { path: "/", token }] = questions;
  const answer = await ask(waypost, first);
  const script = fileURLToPath(new URL("./bare.ts", import.meta.url));
  await using bare = await startServer(["--import", "tsx", script, JSON.stringify(answer)]);
  if (!isDeepStrictEqual(await ask(bare, first), answer)) throw new Error("the bare one differs");

  const taken: { readonly server: Server; readonly sample: Sample }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    for (const server of [waypost, bare]) {
      const sample = await fire(server, { seconds, status: 200, questions });
      // The first round is for the compiler.
      if (round > 0) taken.push({ server, sample });
    }
  }
  const [ours, theirs] = [waypost, bare].map((server) => {
    const samples = taken.filter((one) => one.server === server);
    return summarize(joinSamples(samples.map(({ sample }) => sample)));
  });
  if (ours === undefined || theirs === undefined) throw new Error("nothing was measured");
  const target = { measure: "ratio", limit: 3.5 } as const;
  return [
    { what: "bare node:http, the same bytes", figures: theirs, ratio: 1 },
    { what: "GET /links/:id", figures: ours, ratio: ours.cpu_us / theirs.cpu_us, target },
  ];
}
