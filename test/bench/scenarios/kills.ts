import { setTimeout } from "node:timers/promises";
import { openSite } from "../../soak/site.ts";
import { startPostgres, type PostgresServer } from "../../support/postgres.ts";
import { createNamer } from "../data/names.ts";
import { ask, type Question } from "../load/ask.ts";
import type { Finding } from "../results/finding.ts";
import { createQuestions } from "./creates.ts";
import type { Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** Kills a server during many writes, again and again. No acknowledged write may be lost. */

const writers = 32;
/** A server is killed at most this long after its first acknowledgement. */
const longest_ms = 150;
/** A server that acknowledges nothing is killed as well. */
const patience_ms = 5000;

export async function* measureKills({ extent }: Subject): Rounds {
  const server = await startPostgres();
  try {
    const sqlite = await measureKillsOn("SQLite", undefined, extent.kills);
    yield [...sqlite, ...(await measureKillsOn("PostgreSQL", server, extent.kills))];
  } finally {
    await server.stop();
  }
}

export async function measureKillsOn(
  engine: string,
  database: PostgresServer | undefined,
  kills: number,
): Promise<readonly Finding[]> {
  await using site = await openSite(database);
  const next = createQuestions((await site.addBenchProject("kills", 250)).keys);
  const { share } = createNamer();
  const acknowledged: string[] = [];
  const ready_ms: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const started = performance.now();
    await using server = await site.serve();
    ready_ms.push(performance.now() - started);
    // The kill may come at any moment of a transaction.
    const later_ms = share() * longest_ms;
    const writing = Array.from({ length: writers }, () => writeOn(server, next, acknowledged));
    await Promise.all([...writing, killOnceWritten(server, acknowledged, later_ms)]);
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

async function killOnceWritten(
  server: Server,
  acknowledged: readonly string[],
  later_ms: number,
): Promise<void> {
  const before = acknowledged.length;
  const given_ms = performance.now() + patience_ms;
  while (acknowledged.length === before && performance.now() < given_ms) await setTimeout(1);
  await setTimeout(later_ms);
  await server.kill();
}

async function writeOn(
  server: Server,
  next: () => Question,
  acknowledged: string[],
): Promise<void> {
  for (;;) {
    const question = next();
    const answer = await ask(server, question).catch(() => undefined);
    if (answer === undefined) return;
    if (answer.status !== 201) throw new Error(`${answer.status} ${answer.body}`);
    acknowledged.push((JSON.parse(answer.body) as { readonly path: string }).path);
  }
}
