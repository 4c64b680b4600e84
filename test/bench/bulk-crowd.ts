import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedded } from "../../src/compose/embedded.ts";
import { modernCall } from "../support/mcp-post.ts";
import type { Finding } from "./finding.ts";
import { addPlot } from "./ground.ts";
import { ask, startServer, type Question, type Server } from "./http.ts";
import { watchAnswers } from "./watch.ts";

/**
 * Large plans of one key, all at once, at the MCP server over HTTP: what the process holds at its
 * highest, and how long another key waits meanwhile for one link.
 */

const plans = 25;
const rows = 9500;
/** Of the message that plans them; a message has room for 4 MiB. */
const mostMessage_mb = 3.5;
const mostMemory_mb = 350;
const mostWait_ms = 250;

export async function measureCrowd(say: (text: string) => void): Promise<readonly Finding[]> {
  const folder = await mkdtemp(join(tmpdir(), "waypost-bench-crowd-"));
  try {
    say(`${plans} large plans at once …`);
    return await measurePlans(join(folder, "data"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measurePlans(data: string): Promise<readonly Finding[]> {
  const { crowd, neighbour } = await prepare(data);
  const words = ["dist/waypost.js", "serve", "--data", data, "--port", "0", "--json"];
  await using server = await startServer([...words, "--log", "error"]);
  const path = "neighbour";
  await callTool(server, neighbour, "create_link", { path, url: "https://www.example.com/" });
  const over = new AbortController();
  const get = writeCall(neighbour, "get_link", { id: path });
  const watching = watchAnswers(server, { next: () => get, every_ms: 10, until: over.signal });
  const planning = writeCall(crowd, "plan_links", { operation: "upsert", rows: makeRows() });
  const started = performance.now();
  const answers = await Promise.all(Array.from({ length: plans }, () => ask(server, planning)));
  const seconds = (performance.now() - started) / 1000;
  over.abort();
  const { p99_ms } = await watching;
  const codes = answers.map(({ body }) => readCode(body));
  const made = codes.filter((code) => code === "planned").length;
  const refused = codes.filter((code) => code === "overloaded").length;
  return [
    { what: `${plans} plans of ${rows} rows at once`, value: seconds, unit: "s" },
    { what: "  planned", value: made, unit: "plans" },
    { what: "  told to come later", value: refused, unit: "plans" },
    { what: "  otherwise answered", value: plans - made - refused, unit: "plans", limit: 0 },
    {
      what: "  memory at its highest",
      value: server.readPeak_mb(),
      unit: "MB",
      limit: mostMemory_mb,
    },
    { what: "  a neighbour's get_link, p99", value: p99_ms, unit: "ms", limit: mostWait_ms },
  ];
}

/** Two projects, each with a key. */
async function prepare(data: string) {
  const { store } = await openEmbedded({ data });
  const [[crowd = ""], [neighbour = ""]] = [
    (await addPlot(store, "crowd")).keys,
    (await addPlot(store, "neighbour")).keys,
  ];
  await store.close();
  return { crowd, neighbour };
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

function writeCall(key: string, tool: string, args: object): Question {
  const { headers, body } = modernCall(key, 1, tool, args);
  return { method: "POST", path: "/mcp", headers, text: body };
}

async function callTool(server: Server, key: string, tool: string, args: object): Promise<void> {
  const { status, body } = await ask(server, writeCall(key, tool, args));
  if (status !== 200) throw new Error(`${tool} was answered with ${status}: ${body}`);
}

function readCode(body: string): string {
  if (body.includes('"code":"overloaded"')) return "overloaded";
  return body.includes('"expires_at"') ? "planned" : body.slice(0, 300);
}
