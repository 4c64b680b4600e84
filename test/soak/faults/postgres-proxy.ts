import { setTimeout } from "node:timers/promises";
import { checkReady } from "../check-ready.ts";
import { note } from "../check.ts";
import type { Fault } from "../fault.ts";
import { calm, openFaultyProxy } from "../faulty-proxy.ts";
import { keepAsking } from "../keep-asking.ts";
import { createLedger } from "../ledger.ts";

/** A bad way to the database. */
export const postgresProxy: Fault = {
  name: "postgres-proxy",
  what: "what goes between us and PostgreSQL is delayed, cut and reset",
  engines: ["postgres"],
  play: async ({ openSite, scale, chance }) => {
    await using site = await openSite();
    const { keys } = await site.addPlot("proxied", scale(250, 20));
    const way = new URL(site.databaseUrl ?? "");
    await using proxy = await openFaultyProxy(way.href, chance);
    way.port = String(proxy.port);
    await using server = await site.serve({ databaseUrl: way.href });
    const [token = ""] = keys;
    const list = { path: "/api/v1/links?limit=5", token };
    const { nextWrite, hear, check } = createLedger(keys);
    const loads = [
      keepAsking(server, { askers: 8, next: nextWrite, hear }),
      keepAsking(server, { askers: 2, next: () => list, hear }),
    ];
    for (let turn = 0; turn < scale(30, 2); turn += 1) {
      const isLate = chance.isLikely(0.5);
      proxy.setTrouble({ delay_ms: isLate ? 30 : 0, cut: 0.005, reset: 0.005 });
      await setTimeout(scale(2000, 500));
      proxy.setTrouble(calm);
      await setTimeout(scale(500, 200));
    }
    await Promise.all(loads.map(({ stop }) => stop()));
    const ready = await checkReady(server);
    await server[Symbol.asyncDispose]();
    return [
      note("connections broken", proxy.countBroken()),
      ...check(await site.readLinks()),
      ready,
    ];
  },
};
