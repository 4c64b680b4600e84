import { openSession, askModern } from "../../bench/load/http-tools.ts";
import { startLoad } from "../../bench/load/load.ts";
import { summarizeTimes } from "../../bench/load/measure.ts";
import type { Question } from "../../bench/load/ask.ts";
import { findMedian } from "../../bench/results/finding.ts";
import { isDeliberate } from "../../bench/scenarios/clients.ts";
import { pickTurn } from "../../bench/ring.ts";
import type { Server } from "../../bench/servers/http-server.ts";
import { atMost, none, note } from "../check.ts";
import type { Fault } from "../fault.ts";

/** 1,000 MCP clients at once, for a minute. */
export const manyClients: Fault = {
  name: "many-clients",
  what: "1,000 MCP clients for a minute",
  engines: ["sqlite", "postgres"],
  play: async ({ openSite, scale, judge }) => {
    await using site = await openSite();
    const clients = scale(1000, 20);
    const { keys } = await site.addPlot("clients", scale(50, 4));
    await using server = await site.serve();
    await using load = await startLoad();
    const questions = await connectAll(server, keys, clients);
    const seconds = scale(60, 1);
    const memory_mb: number[] = [];
    const sampling = setInterval(() => memory_mb.push(server.readResident_mb()), 250);
    const streams = [{ name: "calls", status: 200, callers: clients, questions }];
    const heard = await load.ask({ url: server.url, seconds, streams });
    clearInterval(sampling);
    const { times_ms = [], strange = [] } = heard["calls"] ?? {};
    const quarter = Math.floor(memory_mb.length / 4);
    const early = findMedian(memory_mb.slice(quarter, 2 * quarter));
    const late = findMedian(memory_mb.slice(3 * quarter));
    return [
      note("clients", clients),
      note("calls", times_ms.length + strange.length),
      note("calls a second", Math.round(times_ms.length / seconds)),
      atMost("p50", summarizeTimes(times_ms).p50_ms, "ms", undefined),
      atMost("p99", summarizeTimes(times_ms).p99_ms, "ms", undefined),
      note("429 and 503", strange.filter(({ said }) => isDeliberate(said)).length),
      none(
        "other errors",
        strange.map(({ said }) => said).filter((said) => !isDeliberate(said)),
      ),
      atMost("memory at its highest", Math.max(...memory_mb), "MB", judge(300)),
      atMost("memory, last quarter to second", late / early, "times", judge(1.15)),
    ];
  },
};

const callsOfClient = 8;

/** Half of them use sessions, the others 2026-07-28; each reads more than it writes. */
async function connectAll(
  server: Server,
  keys: readonly string[],
  clients: number,
): Promise<readonly Question[]> {
  const rounds: Question[][] = Array.from({ length: callsOfClient }, () => []);
  const [gateway = ""] = keys;
  for (let client = 0; client < clients; client += 1) {
    // A quarter of them share a key, like the users of a gateway.
    const key = client % 4 < 3 ? pickTurn(keys, client) : gateway;
    const session = client % 2 === 0 ? await openSession(server, key) : askModern(server, key);
    const call = (name: string, args: object) =>
      session.write("tools/call", { name, arguments: args });
    const path = `client/${client}`;
    const upsert = { path, url: `https://example.com/${client}` };
    await session.ask("tools/call", { name: "upsert_link", arguments: upsert });
    for (const [round, questions] of rounds.entries()) {
      // Not all of them write at the same time.
      const turn = (round + client) % callsOfClient;
      if (turn === 0) questions.push(call("upsert_link", upsert));
      else if (turn < 3) questions.push(call("list_links", { limit: 5 }));
      else questions.push(call("get_link", { id: path }));
    }
  }
  return rounds.flat();
}
