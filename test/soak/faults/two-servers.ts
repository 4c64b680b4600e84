import { setTimeout } from "node:timers/promises";
import { ask, type Question } from "../../bench/load/ask.ts";
import { none, note } from "../check.ts";
import type { Fault } from "../fault.ts";
import { keepAsking } from "../keep-asking.ts";
import { createLedger } from "../ledger.ts";

/** Two servers of one store, of which one is killed and started again. */
export const twoServers: Fault = {
  name: "two-servers",
  what: "two servers of one store under writes, one of them killed again and again",
  engines: ["sqlite", "postgres"],
  play: async ({ openSite, scale, chance }) => {
    await using site = await openSite();
    const { keys } = await site.addPlot("shared", scale(250, 20));
    await using staying = await site.serve();
    const { nextWrite, hear, check } = createLedger(keys, { noAnswer: true });
    const unseen: string[] = [];
    let seen = 0;
    const writing = keepAsking(staying, { askers: 4, next: nextWrite, hear });
    const kills = scale(30, 2);
    for (let turn = 0; turn < kills; turn += 1) {
      await using going = await site.serve();
      const beside = keepAsking(going, { askers: 4, next: nextWrite, hear });
      const watched = chance.between(2, scale(10, 4));
      for (let look = 0; look < watched; look += 1) {
        const written = nextWrite();
        const answer = await ask(going, written);
        hear(written, answer);
        if (answer.status !== 201) continue;
        const { id } = JSON.parse(answer.body) as { readonly id: string };
        seen += 1;
        // What was acknowledged at one is there at the other within a tenth of a second.
        await setTimeout(100);
        const read: Question = { path: `/api/v1/links/${id}`, token: written.token ?? "" };
        const { status } = await ask(staying, read);
        if (status !== 200) unseen.push(`${status} for ${JSON.stringify(written.body)}`);
      }
      await going.kill();
      await beside.stop();
    }
    await writing.stop();
    await staying[Symbol.asyncDispose]();
    return [
      note("times killed", kills),
      note("writes looked for at the other one", seen),
      none("not there after 100 ms", unseen),
      ...check(await site.readLinks()),
      none("faults in the file", site.findDamage()),
    ];
  },
};
