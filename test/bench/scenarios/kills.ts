import { openSite } from "../../soak/site.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres.ts";
import { createNamer } from "../ground/names.ts";
import { killWhileWriting } from "../load/kill-while-writing.ts";
import type { Finding } from "../results/finding.ts";
import { createQuestions } from "./creates.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Kills a server during many writes, again and again. No acknowledged write may be lost. */

const writers = 32;
const longest_ms = 150;

export async function* measureKills({ extent }: Subject): Rounds {
  const server = await startPostgres();
  try {
    const sqlite = await measureEngine("SQLite", undefined, extent.kills);
    yield [...sqlite, ...(await measureEngine("PostgreSQL", server, extent.kills))];
  } finally {
    await server.stop();
  }
}

async function measureEngine(
  engine: string,
  database: PostgresServer | undefined,
  kills: number,
): Promise<readonly Finding[]> {
  await using site = await openSite(database);
  const next = createQuestions((await site.addPlot("kills", 250)).keys);
  const { share } = createNamer();
  const acknowledged: string[] = [];
  const ready_ms: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const started = performance.now();
    await using server = await site.serve();
    ready_ms.push(performance.now() - started);
    // The kill may come at any moment of a transaction.
    const later_ms = share() * longest_ms;
    await killWhileWriting(server, { writers, next, acknowledged, later_ms });
  }
  const found = new Set((await site.readLinks()).map(({ path }) => path));
  const lost = acknowledged.filter((path) => !found.has(path)).length;
  const faults = { unit: "faults", value: site.findDamage().length, target: { most: 0 } };
  return [
    { what: `${engine}: times killed`, unit: "times", value: kills },
    { what: `${engine}: acknowledged`, unit: "writes", value: acknowledged.length },
    { what: `${engine}: acknowledged and lost`, unit: "writes", value: lost, target: { most: 0 } },
    ...(database === undefined ? [{ what: "faults in the file", ...faults }] : []),
    { what: `${engine}: ready again, at worst`, unit: "ms", value: Math.max(...ready_ms) },
  ];
}
