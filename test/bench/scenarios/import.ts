import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request as sendRequest } from "node:http";
import { join } from "node:path";
import { budgets } from "../../../src/contract/budgets.ts";
import { startDeployment } from "../../support/mcp-deployment.ts";
import { makeDataFile } from "../ground/data-file.ts";
import { serve } from "../servers/http-server.ts";
import { startNode } from "../servers/processes.ts";
import { readPeak_mb } from "../servers/threads.ts";
import type { Rounds, Subject } from "./scenario.ts";

/**
 * `waypost import` before a deployment of its own that enforces the budget, seen by a proxy that
 * counts what is answered.
 */

export async function* measureImport({ build, extent: { rows } }: Subject): Rounds {
  await using file = await makeDataFile(build);
  await using importing = await makeDataFile(build);
  await using server = await serve(build, file.folder);
  await using proxy = await startProxy(server.url);
  const table = join(importing.folder, "links.csv");
  await writeFile(table, writeTable(rows));
  const started = performance.now();
  const child = startNode([build.command, "import", table, "--yes", "--json"], {
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      WAYPOST_BASE_URL: proxy.url,
      WAYPOST_API_KEY_FILE: join(file.folder, "owner.key"),
      WAYPOST_DATA: importing.folder,
    },
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
  let peak_mb = 0;
  const watch = setInterval(() => (peak_mb = readPeak_mb(child.pid) ?? peak_mb), 200);
  const [code] = await once(child, "exit");
  clearInterval(watch);
  if (code !== 0) throw new Error(`the import ended with ${code}: ${said}`);
  const seconds = (performance.now() - started) / 1000;
  const { limit, window_ms } = budgets.link_writes;
  const floor_s = (rows * window_ms) / limit / 1000;
  const key = (await readFile(join(file.folder, "owner.key"), "utf8")).trim();
  const missing = rows - (await countLinks(server.url, key));
  yield [
    { what: `${rows} upserts`, unit: "s", value: seconds },
    {
      what: "of the time that the budget takes",
      unit: "times",
      value: seconds / floor_s,
      target: { most: 1.04 },
    },
    { what: "answered with 429", unit: "times", value: proxy.count(429), target: { most: 0 } },
    { what: "links missing", unit: "links", value: missing, target: { most: 0 } },
    { what: "memory at its highest", unit: "MB", value: peak_mb },
  ];
}

function writeTable(rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    return `bench/${row},https://www.example.com/landing/${row},Row ${row}`;
  });
  return ["path,url,name", ...lines, ""].join("\n");
}

async function countLinks(url: string, key: string): Promise<number> {
  const headers = { authorization: `Token ${key}` };
  const response = await fetch(`${url}/api/v1/links?limit=1`, { headers });
  return ((await response.json()) as { meta: { count: number } }).meta.count;
}

/** Hands everything on, and counts how it was answered. */
async function startProxy(target: string) {
  const statuses = new Map<number | undefined, number>();
  const { hostname, port } = new URL(target);
  const proxy = await startDeployment((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const sent = sendRequest({ hostname, port, method, path, headers }, (answer) => {
      statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(sent);
  });
  return { ...proxy, count: (status: number) => statuses.get(status) ?? 0 };
}
