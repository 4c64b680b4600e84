import { createQuestions } from "../../bench/scenarios/creates.ts";
import { killWhileWriting } from "../../bench/load/kill-while-writing.ts";
import { atMost, none, note } from "../check.ts";
import type { Fault } from "../fault.ts";

/** A killed server has lost no acknowledged write, and the next one is ready soon. */
export const kill: Fault = {
  name: "kill",
  what: "kill -9 while 32 write",
  engines: ["sqlite", "postgres"],
  play: async ({ openSite, chance, scale, judge }) => {
    await using site = await openSite();
    const { keys } = await site.addPlot("kills", scale(250, 20));
    const next = createQuestions(keys);
    const acknowledged: string[] = [];
    const ready_ms: number[] = [];
    const kills = scale(200, 3);
    for (let turn = 0; turn < kills; turn += 1) {
      const started = performance.now();
      await using server = await site.serve();
      ready_ms.push(performance.now() - started);
      const later_ms = chance.between(0, 150);
      await killWhileWriting(server, { writers: 32, next, acknowledged, later_ms });
    }
    const found = new Set((await site.readLinks()).map(({ path }) => path));
    return [
      note("times killed", kills),
      note("writes acknowledged", acknowledged.length),
      none(
        "acknowledged and lost",
        acknowledged.filter((path) => !found.has(path)),
      ),
      none("faults in the file", site.findDamage()),
      // The first start creates the tables.
      atMost("ready again, at worst", Math.max(...ready_ms.slice(1)), "ms", judge(2000)),
    ];
  },
};
