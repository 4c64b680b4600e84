import { openSite } from "../../soak/site.ts";
import { createNamer } from "../ground/names.ts";
import { killWhileWriting } from "../load/kill-while-writing.ts";
import { createQuestions } from "./creates.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** A server that is killed again and again while many write: no acknowledged write may be lost. */

const writers = 32;
const longest_ms = 150;

export async function* measureKills({ extent }: Subject): Rounds {
  await using site = await openSite(undefined);
  const next = createQuestions((await site.addPlot("kills", 250)).keys);
  const { share } = createNamer();
  const acknowledged: string[] = [];
  const ready_ms: number[] = [];
  for (let kill = 0; kill < extent.kills; kill += 1) {
    const started = performance.now();
    await using server = await site.serve();
    ready_ms.push(performance.now() - started);
    // A kill may come at any moment of a transaction.
    const later_ms = share() * longest_ms;
    await killWhileWriting(server, { writers, next, acknowledged, later_ms });
  }
  const found = new Set((await site.readLinks()).map(({ path }) => path));
  const lost = acknowledged.filter((path) => !found.has(path)).length;
  const faults = site.findDamage().length;
  yield [
    { what: "times killed", unit: "times", value: extent.kills },
    { what: "acknowledged", unit: "writes", value: acknowledged.length },
    { what: "acknowledged and lost", unit: "writes", value: lost, target: { most: 0 } },
    { what: "faults in the file", unit: "faults", value: faults, target: { most: 0 } },
    { what: "ready again, at worst", unit: "ms", value: Math.max(...ready_ms) },
  ];
}
