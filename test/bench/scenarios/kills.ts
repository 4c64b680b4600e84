import { setTimeout } from "node:timers/promises";
import { openDatabase } from "../../../src/sql/engine.ts";
import { makeDataFile } from "../ground/data-file.ts";
import { createNamer } from "../ground/names.ts";
import { addPlot } from "../ground/plots.ts";
import { ask, type Question } from "../load/ask.ts";
import { serve, type Server } from "../servers/http-server.ts";
import { createQuestions } from "./creates.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** A server that is killed again and again while many write: what it acknowledged is there. */

const writers = 32;
const longest_ms = 150;
const patience_ms = 5000;

export async function* measureKills({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const { keys } = await addPlot(file, "kills");
  const next = createQuestions(keys);
  const { share } = createNamer();
  const acknowledged: string[] = [];
  const ready_ms: number[] = [];
  for (let kill = 0; kill < extent.kills; kill += 1) {
    const started = performance.now();
    await using server = await serve(build, file.folder);
    ready_ms.push(performance.now() - started);
    const before = acknowledged.length;
    const writing = Array.from({ length: writers }, () => writeOn(server, next, acknowledged));
    // A server that acknowledges nothing is killed all the same.
    const given_ms = performance.now() + patience_ms;
    while (acknowledged.length === before && performance.now() < given_ms) await setTimeout(1);
    // Every moment of a transaction has its turn.
    await setTimeout(share() * longest_ms);
    await server.kill();
    await Promise.all(writing);
  }
  // The log of the last one that was killed is read as the next server would read it.
  await using server = await serve(build, file.folder);
  await server[Symbol.asyncDispose]();
  const { found, faults } = readFile(file.path);
  const lost = acknowledged.filter((path) => !found.has(path)).length;
  const sum = "sum" as const;
  yield [
    { what: "times killed", unit: "times", value: extent.kills },
    { what: "acknowledged", unit: "writes", value: acknowledged.length },
    {
      what: "acknowledged and lost",
      unit: "writes",
      value: lost,
      target: { most: 0 },
      gather: sum,
    },
    { what: "faults in the file", unit: "faults", value: faults, target: { most: 0 }, gather: sum },
    { what: "ready again, at worst", unit: "ms", value: Math.max(...ready_ms) },
  ];
}

/** Until the server is gone. */
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

function readFile(path: string): { readonly found: ReadonlySet<string>; readonly faults: number } {
  const database = openDatabase(path);
  const paths = database.prepare("select path from links").all();
  const check = database.prepare("pragma integrity_check").all();
  database.close();
  const [{ integrity_check } = {}] = check as readonly { readonly integrity_check?: string }[];
  return {
    found: new Set((paths as readonly { readonly path: string }[]).map((row) => row.path)),
    faults: integrity_check === "ok" ? 0 : check.length,
  };
}
