import { makeDataFile } from "../ground/data-file.ts";
import { addPlot } from "../ground/plots.ts";
import { askModern, openSession } from "../load/http-tools.ts";
import { startLoad } from "../load/load.ts";
import { summarizeTimes } from "../load/measure.ts";
import type { Question } from "../load/ask.ts";
import type { Finding } from "../results/finding.ts";
import { pickTurn } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * Many MCP clients at a time, one half of them in sessions of 2025-11-25 and the other half as of
 * 2026-07-28, each of which calls get_link again and again: some with a few others on a key, as in
 * a team, and all on one key, as behind a gateway.
 */

const clients = 300;
const clientsOfKey = 12;
const link = { path: "spring", url: "https://www.example.com/spring" };

export async function* measureClients({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const { keys } = await addPlot(file, "clients", clients / clientsOfKey + 1);
  const [gateway = "", ...team] = keys;
  await using server = await serve(build, file.folder);
  await using load = await startLoad();
  const first = askModern(server, gateway);
  const made = await first.ask("tools/call", { name: "create_link", arguments: link });
  const { id } = made.structuredContent.link;
  const connect = (pickKey: (client: number) => string) => connectAll(server, pickKey, id);
  const ofTeam = await connect((client) => pickTurn(team, client));
  const ofGateway = await connect(() => gateway);
  for (;;) {
    const measure = async (what: string, questions: readonly Question[]) => {
      const streams = [{ name: "calls", status: 200, callers: clients, questions }];
      const before_us = await server.readCpu_us();
      const heard = await load.ask({ url: server.url, seconds: extent.seconds, streams });
      const cpu_us = (await server.readCpu_us()) - before_us;
      const { times_ms = [], strange = [] } = heard["calls"] ?? {};
      const count = times_ms.length + strange.length;
      const { p99_ms } = summarizeTimes(times_ms);
      return [
        { what: `${what}, calls`, unit: "a second", value: times_ms.length / extent.seconds },
        { what: `${what}, CPU`, unit: "µs", value: cpu_us / count },
        { what: `${what}, p99`, unit: "ms", value: p99_ms },
        {
          what: `${what}, refused`,
          unit: "%",
          value: (100 * strange.length) / count,
          target: { most: 0 },
        },
      ] satisfies readonly Finding[];
    };
    const inTeams = `${clients} clients, ${clientsOfKey} on a key`;
    const findings = await measure(inTeams, ofTeam);
    yield [
      ...findings,
      ...(await measure(`${clients} clients, all on one key`, ofGateway)),
      { what: "memory at its highest", unit: "MB", value: server.readPeak_mb() },
    ];
  }
}

/** What each client asks, again and again. */
async function connectAll(
  server: Server,
  pickKey: (client: number) => string,
  id: string,
): Promise<readonly Question[]> {
  const questions: Question[] = [];
  for (let client = 0; client < clients; client += 1) {
    const key = pickKey(client);
    const session = client % 2 === 0 ? await openSession(server, key) : askModern(server, key);
    questions.push(session.write("tools/call", { name: "get_link", arguments: { id } }));
  }
  return questions;
}
