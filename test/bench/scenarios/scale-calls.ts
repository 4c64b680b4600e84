import { makeDataFile } from "../ground/data-file.ts";
import { addPlot } from "../ground/plots.ts";
import { fire } from "../load/fire.ts";
import { askModern } from "../load/http-tools.ts";
import { serve } from "../servers/http-server.ts";
import { createRing } from "../ring.ts";
import type { Rounds, Subject } from "./scenario.ts";

/** What a server holds after very many calls of a tool. */

const callers = 32;
const link = { path: "spring", url: "https://www.example.com/spring" };

export async function* measureScaleCalls({ build, extent }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const { keys } = await addPlot(file, "calls");
  await using server = await serve(build, file.folder);
  const [first = ""] = keys;
  await askModern(server, first).ask("tools/call", { name: "create_link", arguments: link });
  const params = { name: "get_link", arguments: { id: link.path } };
  const nextKey = createRing(keys);
  const questions = () => askModern(server, nextKey()).write("tools/call", params);
  const call = async (requests: number) => {
    await fire(server, { connections: callers, requests, status: 200, questions });
    return { held: await server.readMemory_mb(), resident: server.readResident_mb() };
  };
  const before = await call(Math.ceil(extent.calls / 10));
  const after = await call(Math.ceil(0.9 * extent.calls));
  const what = `after ${extent.calls.toLocaleString("en")} calls`;
  yield [
    { what: `${what}, held`, unit: "MB", value: after.held },
    {
      what: `${what}, held, of that after a tenth of them`,
      unit: "times",
      value: after.held / before.held,
      target: { most: 1.05 },
    },
    { what: `${what}, resident`, unit: "MB", value: after.resident },
    {
      what: `${what}, resident, of that after a tenth of them`,
      unit: "times",
      value: after.resident / before.resident,
    },
    {
      what: "resident at its highest",
      unit: "MB",
      value: server.readPeak_mb(),
      target: { most: 512 },
    },
  ];
}
