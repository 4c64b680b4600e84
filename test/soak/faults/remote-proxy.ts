import { setTimeout } from "node:timers/promises";
import { ask } from "../../bench/load/ask.ts";
import { askModern } from "../../bench/load/http-tools.ts";
import { makeFolder } from "../../bench/leftovers.ts";
import { serve } from "../../bench/servers/http-server.ts";
import { none, note } from "../check.ts";
import type { Fault } from "../fault.ts";
import { calm, openFaultyProxy } from "../faulty-proxy.ts";
import { describeAnswer, keepAsking } from "../keep-asking.ts";
import { createLedger } from "../ledger.ts";

/** A bad connection between the assistant's server and a remote API. */
export const remoteProxy: Fault = {
  name: "remote-proxy",
  what: "the connection between client and service is delayed, cut and reset",
  engines: ["sqlite"],
  play: async ({ openSite, scale, chance }) => {
    await using site = await openSite();
    const { keys } = await site.addPlot("remote", 1);
    await using service = await site.serve();
    await using proxy = await openFaultyProxy(service.url, chance);
    using folder = makeFolder();
    const way = ["--base-url", `http://127.0.0.1:${proxy.port}`];
    const [key = ""] = keys;
    const env = { WAYPOST_API_KEY: key, WAYPOST_HTTP_TOKEN: token };
    await using server = await serve(folder.path, way, { env });
    const list = askModern(server, token).write("tools/call", {
      name: "list_links",
      arguments: { limit: 5 },
    });
    // The errors that a tool may return because of the connection.
    const { nextCall, hear, check } = createLedger([token], { codes });
    const loads = [
      keepAsking(server, { askers: 4, next: nextCall, hear }),
      keepAsking(server, { askers: 2, next: () => list, hear }),
    ];
    for (let turn = 0; turn < scale(20, 1); turn += 1) {
      proxy.setTrouble({ delay_ms: chance.pick([0, 100, 1000]), cut: 0.02, reset: 0.02 });
      await setTimeout(scale(3000, 1000));
      proxy.setTrouble(calm);
      await setTimeout(scale(500, 200));
    }
    await Promise.all(loads.map(({ stop }) => stop()));
    const last = await ask(server, list);
    await service[Symbol.asyncDispose]();
    return [
      note("connections broken", proxy.countBroken()),
      ...check(await site.readLinks()),
      none("no answer in the end", last.body.includes('"links"') ? [] : [describeAnswer(last)]),
    ];
  },
};

const token = "soak-token-of-those-who-call-the-gateway";
const codes = ["unreachable", "timed_out", "bad_response", "rate_limited"];
