import { makeDataFile } from "../data/data-file.ts";
import { addBenchProject } from "../data/bench-project.ts";
import type { Question } from "../load/ask.ts";
import { askModern, openSession } from "../load/http-tools.ts";
import { summarizeTimes } from "../load/measure.ts";
import { runStreams } from "../load/streams.ts";
import { pickTurn } from "../ring.ts";
import { serve, type Server } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";
import { pickHeard } from "./stage.ts";

/** Many MCP clients of two revisions at once repeat get_link; some share a key, as in a team. */

const clientsOfKey = 12;
const link = { path: "spring", url: "https://www.example.com/spring" };

export async function* measureClients({ extent: { clients, seconds } }: Subject): Rounds {
  await using file = await makeDataFile();
  const { keys } = await addBenchProject(file, "clients", Math.ceil(clients / clientsOfKey));
  const [first = ""] = keys;
  await using server = await serve(file.folder);
  await askModern(server, first).ask("tools/call", { name: "create_link", arguments: link });
  const questions = await connectAll(server, clients, keys);
  for (;;) {
    const streams = [{ name: "calls", status: 200, callers: clients, questions }];
    const before_us = server.readCpu_us();
    const heard = await runStreams({ url: server.url, seconds, streams });
    const cpu_us = server.readCpu_us() - before_us;
    const { times_ms, strange } = pickHeard(heard, "calls");
    const errors = strange.filter(({ said }) => !isDeliberate(said)).length;
    yield [
      { what: `${clients} clients, calls`, unit: "a second", value: times_ms.length / seconds },
      { what: "CPU", unit: "µs", value: cpu_us / (times_ms.length + strange.length) },
      { what: "p99", unit: "ms", value: summarizeTimes(times_ms).p99_ms },
      { what: "429 and 503", unit: "answers", value: strange.length - errors },
      {
        what: "other errors",
        unit: "answers",
        value: errors,
        target: { most: 0 },
        gather: "sum",
      },
      {
        what: "memory at its highest",
        unit: "MB",
        value: server.readPeak_mb(),
        target: { most: 300 },
      },
    ];
  }
}

const deliberate = ["429 ", "503 ", "rate_limited", "overloaded"];

/** Takes an HTTP status, or the code of an error in a tool's result. */
function isDeliberate(said: string): boolean {
  return deliberate.some((word) => said.includes(word));
}

async function connectAll(
  server: Server,
  clients: number,
  keys: readonly string[],
): Promise<readonly Question[]> {
  const questions: Question[] = [];
  for (let client = 0; client < clients; client += 1) {
    const key = pickTurn(keys, client);
    const session = client % 2 === 0 ? await openSession(server, key) : askModern(server, key);
    const params = { name: "get_link", arguments: { id: link.path } };
    questions.push(session.write("tools/call", params));
  }
  return questions;
}
