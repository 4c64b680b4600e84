import { join } from "node:path";
import { openDatabase } from "../../../src/sql/engine.ts";
import { makeDataFolder, openDataFile } from "../ground/data-file.ts";
import { createNamer } from "../ground/names.ts";
import { addPlot } from "../ground/plots.ts";
import { killWhileWriting } from "../load/kill-while-writing.ts";
import { serve } from "../servers/http-server.ts";
import { createQuestions } from "./creates.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** A server that is killed again and again while many write: what it acknowledged is there. */

const writers = 32;
const longest_ms = 150;

export async function* measureKills({ build, extent }: Subject): Rounds {
  using folder = await makeDataFolder(build);
  const next = createQuestions(await addKeys(folder.path));
  const { share } = createNamer();
  const acknowledged: string[] = [];
  const ready_ms: number[] = [];
  for (let kill = 0; kill < extent.kills; kill += 1) {
    const started = performance.now();
    await using server = await serve(build, folder.path);
    ready_ms.push(performance.now() - started);
    // Every moment of a transaction has its turn.
    const later_ms = share() * longest_ms;
    await killWhileWriting(server, { writers, next, acknowledged, later_ms });
  }
  // The log of the last one that was killed is read as the next server would read it.
  await using server = await serve(build, folder.path);
  await server[Symbol.asyncDispose]();
  const { found, faults } = readFile(join(folder.path, "waypost.db"));
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

/** Nobody else may have the file open: whoever does keeps its log for the next server. */
async function addKeys(folder: string): Promise<readonly string[]> {
  await using file = openDataFile(folder);
  return (await addPlot(file, "kills")).keys;
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
