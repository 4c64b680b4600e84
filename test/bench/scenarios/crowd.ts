import { makeDataFile } from "../ground/data-file.ts";
import { addPlot } from "../ground/plots.ts";
import { ask } from "../load/ask.ts";
import { askModern } from "../load/http-tools.ts";
import { watchWhile } from "../load/watch.ts";
import { serve } from "../servers/http-server.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * Large plans of one key, all at once, at the MCP server over HTTP: what the process holds at its
 * highest, and how long another key waits meanwhile for one link.
 */

const plans = 25;
const rows = 9500;
/** Of the message that plans them; a message has room for 4 MiB. */
const mostMessage_mb = 3.5;

export async function* measureCrowd({ build }: Subject): Rounds {
  await using file = await makeDataFile(build);
  const [crowd = ""] = (await addPlot(file, "crowd", 1)).keys;
  const [neighbour = ""] = (await addPlot(file, "neighbour", 1)).keys;
  await using server = await serve(build, file.folder);
  const beside = askModern(server, neighbour);
  const link = { path: "neighbour", url: "https://www.example.com/" };
  await beside.ask("tools/call", { name: "create_link", arguments: link });
  const get = beside.write("tools/call", { name: "get_link", arguments: { id: link.path } });
  const planned = { operation: "upsert", rows: makeRows() };
  const planning = askModern(server, crowd).write("tools/call", {
    name: "plan_links",
    arguments: planned,
  });
  const started = performance.now();
  const { waited, result } = await watchWhile(server, { next: () => get, every_ms: 10 }, () =>
    Promise.all(Array.from({ length: plans }, () => ask(server, planning))),
  );
  const seconds = (performance.now() - started) / 1000;
  const codes = result.map(({ body }) => readCode(body));
  const made = codes.filter((code) => code === "planned").length;
  const refused = codes.filter((code) => code === "overloaded").length;
  const strange = plans - made - refused;
  const peak_mb = server.readPeak_mb();
  yield [
    { what: `${plans} plans of ${rows} rows at once`, unit: "s", value: seconds },
    { what: "planned", unit: "plans", value: made },
    { what: "told to come later", unit: "plans", value: refused },
    { what: "otherwise answered", unit: "plans", value: strange, target: { most: 0 } },
    { what: "memory at its highest", unit: "MB", value: peak_mb, target: { most: 350 } },
    {
      what: "a neighbour's get_link, p99",
      unit: "ms",
      value: waited.p99_ms,
      target: { most: 250 },
    },
  ];
}

function makeRows() {
  const made = Array.from({ length: rows }, (_, row) => ({
    path: `crowd/${row}`,
    url: `https://www.example.com/landing/${row}?campaign=spring&medium=social`,
    name: `Landing page ${row} of the spring campaign`,
    social_title: `Spring is here: offer ${row}`,
    social_description: "Everything that you need for the season, and a little more. ".repeat(2),
  }));
  const size_mb = JSON.stringify(made).length / 1e6;
  if (size_mb > mostMessage_mb || size_mb < mostMessage_mb * 0.9) {
    throw new Error(`the rows have ${size_mb} MB`);
  }
  return made;
}

function readCode(body: string): string {
  if (body.includes('"code":"overloaded"')) return "overloaded";
  return body.includes('"expires_at"') ? "planned" : body.slice(0, 300);
}
