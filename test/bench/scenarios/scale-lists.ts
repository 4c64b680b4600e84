import { readTally } from "../../../src/store/project-tallies.ts";
import { makePostgresGround } from "../ground/postgres-ground.ts";
import type { Finding } from "../results/finding.ts";
import { serve } from "../servers/http-server.ts";
import { describeLists, measureList } from "./lists.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** The lists of a very large project on PostgreSQL, each as `lists.ts` asks it of a file. */
export async function* measureScaleLists({ build, extent }: Subject): Rounds {
  await using ground = await makePostgresGround(build);
  const { file, folder, words } = ground;
  const large = await ground.addPlot("large");
  const started = performance.now();
  const { samples } = await ground.seed(large, extent.links);
  const seconds = (performance.now() - started) / 1000;
  await using server = await serve(build, folder, words);
  const { links } = await readTally({ db: file.db, projectId: large.projectId });
  const findings: Finding[] = [];
  for (const list of describeLists({ samples }, links)) {
    findings.push(...(await measureList(server, { large, file }, list)));
  }
  yield [...findings, { what: "the links are planted", unit: "s", value: seconds }];
}
