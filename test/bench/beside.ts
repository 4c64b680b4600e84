import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { ask, fire, startServer, type Barrage, type Question, type Server } from "./http.ts";
import { joinSamples, summarize, type Figures, type Sample } from "./measure.ts";

/** What we cost, and what a bare `node:http` costs that says the same. */
export type Beside = { readonly ours: Figures; readonly theirs: Figures };

const rounds = 4;

/** The two take turns, so that what else the machine does falls on both. */
export async function measureBeside(
  waypost: Server,
  example: Question,
  barrage: Barrage,
): Promise<Beside> {
  const answer = await ask(waypost, example);
  const script = fileURLToPath(new URL("./bare.ts", import.meta.url));
  await using bare = await startServer(["--import", "tsx", script, JSON.stringify(answer)]);
  if (!isDeepStrictEqual(await ask(bare, example), answer)) throw new Error("the bare one differs");

  const taken: { readonly server: Server; readonly sample: Sample }[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    for (const server of [waypost, bare]) {
      const sample = await fire(server, barrage);
      // The first round is for the compiler.
      if (round > 0) taken.push({ server, sample });
    }
  }
  const [ours, theirs] = [waypost, bare].map((server) => {
    const samples = taken.filter((one) => one.server === server);
    return summarize(joinSamples(samples.map(({ sample }) => sample)));
  });
  if (ours === undefined || theirs === undefined) throw new Error("nothing was measured");
  return { ours, theirs };
}
