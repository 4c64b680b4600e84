import { callOf, startRaw } from "../../support/mcp-raw.ts";
import { atMost, none, note } from "../check.ts";
import type { Fault } from "../fault.ts";

/** A client over stdio that goes away in one of the ways in which clients do. */
export const closedPipe: Fault = {
  name: "closed-pipe",
  what: "a client over stdio closes its end in the midst of calls",
  engines: ["sqlite", "postgres"],
  play: async ({ openSite, scale, chance, judge }) => {
    await using site = await openSite();
    const env = site.databaseUrl === undefined ? {} : { WAYPOST_DATABASE_URL: site.databaseUrl };
    // The first start makes what the others find.
    await (await site.serve())[Symbol.asyncDispose]();
    const acknowledged: string[] = [];
    const wrong: string[] = [];
    const ends_ms: number[] = [];
    const turns = scale(60, 3);
    for (let turn = 0; turn < turns; turn += 1) {
      await using session = startRaw({ data: site.folder, env });
      await session.handshake();
      const calls = Array.from({ length: 10 }, (_, call) => `pipe ${turn} ${call}`);
      session.send(...calls.map((name) => callOf(name, "create_link", { name })));
      await session.answer(calls[chance.between(0, 9)] ?? "");
      const way = chance.pick(ways);
      const closed = performance.now();
      if (way !== "input") session.child.stdout?.destroy();
      if (way !== "output") session.child.stdin?.end('{"jsonrpc":"2.0","id":"half');
      // What nobody reads is noticed when there is something to say.
      else session.send(callOf("last", "create_link", { name: `pipe ${turn} last` }));
      const code = await session.ended;
      ends_ms.push(performance.now() - closed);
      if (code !== 0) wrong.push(`${code} after the end of its ${way}: ${session.stderr()}`);
      const heard = session.heard().filter(({ result }) => result?.isError !== true);
      acknowledged.push(...heard.map(({ id }) => String(id)).filter((id) => id.startsWith("pipe")));
    }
    const names = new Set((await site.readLinks()).map(({ name }) => name));
    return [
      note("times closed", turns),
      note("writes acknowledged", acknowledged.length),
      none(
        "acknowledged and lost",
        acknowledged.filter((name) => !names.has(name)),
      ),
      none("ends that were no success", wrong),
      atMost("ends, at worst", Math.max(...ends_ms), "ms", judge(2000)),
    ];
  },
};

const ways = ["input", "output", "both ends"] as const;
