import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, request as sendRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { budgets } from "../../src/contract/budgets.ts";
import { applyUnpaced } from "./bulk-unpaced.ts";
import type { Finding } from "./finding.ts";
import { prepareGround, visitedLinks } from "./ground.ts";
import { startServer } from "./http.ts";
import { startStdio, type Reply } from "./stdio.ts";
import { readPeak_mb } from "./threads.ts";

/**
 * Many links at once: `waypost import` before a deployment of its own that enforces the budget,
 * seen by a proxy that counts what is answered; the same work with budgets lifted beside plain
 * calls; and the planning of a large project over stdio.
 */

const rows = 3000;
const mostOverFloor = 1.04;
const mostPlanning_s = 60;
const mostPlanning_mb = 300;

export async function measureBulk(say: (text: string) => void): Promise<readonly Finding[]> {
  const folder = await mkdtemp(join(tmpdir(), "waypost-bench-bulk-"));
  try {
    say(`planning over ${visitedLinks} links …`);
    const findings = [...(await measurePlanning())];
    say("rows with budgets lifted …");
    findings.push(...(await applyUnpaced(folder)));
    say(`${rows} upserts at the budget's pace …`);
    return [...findings, ...(await measurePaced(folder))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measurePaced(folder: string): Promise<readonly Finding[]> {
  const data = join(folder, "served");
  const words = ["dist/waypost.js", "serve", "--data", data, "--port", "0", "--json"];
  await using server = await startServer([...words, "--log", "error"]);
  await using proxy = await startProxy(server.url);
  const file = join(folder, "links.csv");
  await writeFile(file, writeTable());
  const started = performance.now();
  const child = spawn(process.execPath, ["dist/waypost.js", "import", file, "--yes", "--json"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      WAYPOST_BASE_URL: proxy.url,
      WAYPOST_API_KEY_FILE: join(data, "owner.key"),
      WAYPOST_DATA: join(folder, "importing"),
    },
  });
  child.stdout.resume();
  let peak_mb = 0;
  const watch = setInterval(() => (peak_mb = readPeak_mb(child.pid) ?? peak_mb), 200);
  const [code] = await once(child, "exit");
  clearInterval(watch);
  if (code !== 0) throw new Error(`the import ended with ${code}`);
  const seconds = (performance.now() - started) / 1000;
  const { limit, window_ms } = budgets.link_writes;
  const floor_s = (rows * window_ms) / limit / 1000;
  const key = (await readFile(join(data, "owner.key"), "utf8")).trim();
  const made = await countLinks(server.url, key);
  return [
    { what: `${rows} upserts, all of it`, value: seconds, unit: "s" },
    { what: "  over the floor", value: seconds / floor_s, unit: "times", limit: mostOverFloor },
    { what: "  answered with 429", value: proxy.count(429), unit: "times", limit: 0 },
    { what: "  links missing", value: rows - made, unit: "links", limit: 0 },
    { what: "  memory at its highest", value: peak_mb, unit: "MB" },
  ];
}

function writeTable(): string {
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
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const sent = sendRequest(
      { hostname, port, method, path, headers },
      (answer: IncomingMessage) => {
        statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(sent);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    count: (status: number) => statuses.get(status) ?? 0,
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      proxy.close();
      await once(proxy, "close");
    },
  };
}

/** Every link of a project, named by a filter, compared and kept as a plan. */
async function measurePlanning(): Promise<readonly Finding[]> {
  await using ground = await prepareGround(20_000);
  const [key = ""] = ground.visited.keys;
  const words = ["dist/waypost.js", "stdio", "--data", ground.folder, "--log", "error"];
  process.env["WAYPOST_API_KEY"] = key;
  await using server = await startStdio(words);
  delete process.env["WAYPOST_API_KEY"];
  const started = performance.now();
  const { result } = await server.ask("tools/call", {
    name: "plan_links",
    arguments: {
      operation: "update",
      filters: [{ field: "clicks", condition: "gteq", value: 0 }],
      changes: { social_title: "Planned" },
    },
  });
  const seconds = (performance.now() - started) / 1000;
  const left = visitedLinks - readUpdates(result);
  return [
    {
      what: `planning over ${visitedLinks} links`,
      value: seconds,
      unit: "s",
      limit: mostPlanning_s,
    },
    { what: "  links missing", value: left, unit: "links", limit: 0 },
    {
      what: "  memory at its highest",
      value: server.readPeak_mb(),
      unit: "MB",
      limit: mostPlanning_mb,
    },
  ];
}

function readUpdates(result: Reply["result"]): number {
  if (result === undefined) throw new Error("nothing was planned");
  const { plan } = result["structuredContent"] as { plan: { counts: { update: number } } };
  return plan.counts.update;
}
