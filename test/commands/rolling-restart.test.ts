import { once } from "node:events";
import {
  Agent,
  request,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { pickTurn } from "../bench/ring.ts";
import { checkText } from "../support/api-description.ts";
import { callDone, connectV2 } from "../support/mcp-clients.ts";
import {
  createUsedFolder,
  runJson,
  startServe,
  startServes,
  type Serving,
} from "../support/command.ts";
import { modernCall, withSession, callOf, handshake } from "../support/mcp-http.ts";
import { waitUntil } from "../support/clock.ts";

/** Processes of one folder are restarted in turn while clients keep sending requests. */

const clients = 6;

test("no request is lost when two processes are restarted one after the other", async () => {
  await using folder = await createUsedFolder();
  const servings = [...(await startServes(folder.path, 2))];
  const over = new AbortController();
  // One key would reach its rate limit before a slow machine has restarted both processes.
  const agents: Agent[] = [];
  const loads: Promise<number>[] = [];
  while (loads.length < clients) {
    const { token } = await runJson(["keys", "create", "--data", folder.path]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const open = pickTurn(ways, agents.push(agent));
    loads.push(writeUntil(over.signal, servings, open(token, agent), `c${loads.length}`));
  }
  const written = Promise.all(loads);
  for (const at of [0, 1]) {
    const made = await countLinks(servings[1 - at]);
    await waitUntil(async () => (await countLinks(servings[1 - at])) > made + 20);
    const { code } = (await servings[at]?.stop()) ?? {};
    expect(code).toBe(0);
    servings[at] = await startServe(folder.path);
  }
  over.abort();
  // All acknowledged links exist, and no others.
  expect((await written).reduce((sum, count) => sum + count)).toBe(await countLinks(servings[0]));
  for (const agent of agents) agent.destroy();
  for (const { stop } of servings) await stop();
});

test("a job is interrupted when its process stops, and a new process resumes the job", async () => {
  await using folder = await createUsedFolder();
  const [one, other] = await startServes(folder.path, 2);
  if (one === undefined || other === undefined) throw new Error("two servers must be running");
  const first = await connect(one);
  const second = await connect(other);
  const rows = Array.from({ length: 60 }, (_, row) => ({
    path: `p${row}`,
    url: "https://x.example/",
  }));
  const { plan } = await callDone(first, "plan_links", { operation: "upsert", rows });
  const plan_id = plan.id;
  const applying = callDone(first, "apply_plan", { plan_id });
  await waitUntil(async () => (await countLinks(other)) > 2);
  const stopped = one.stop();
  // The call that waits for the job was already running, so it gets a response.
  const { job } = await applying;
  expect(job).toMatchObject({ plan_id, state: "interrupted", counts: { unknown: 0 } });
  expect(job.counts.done).toBeLessThan(rows.length);
  expect((await stopped).code).toBe(0);
  const again = await startServe(folder.path);
  const readJob = () => callDone(second, "get_job", { job_id: job.id });
  await waitUntil(async () => (await readJob()).job.state === "done");
  const ended = await readJob();
  expect(ended.job.counts).toEqual({ done: rows.length, rejected: 0, unknown: 0, left: 0 });
  expect(await countLinks(other)).toBe(rows.length);
  await second.close();
  await first.close().catch(() => undefined);
  await Promise.all([again.stop(), other.stop()]);
});

test("processes that start concurrently on a new data folder create only one key", async () => {
  await using folder = await createUsedFolder();
  const servings = await startServes(folder.path, 4);
  for (const { places, call } of servings) {
    expect((await fetch(`${places.url}/readyz`)).status).toBe(200);
    expect((await call("GET", "/links")).status).toBe(200);
  }
  expect(new Set(servings.map(({ key }) => key)).size).toBe(1);
  for (const name of ["keys", "projects"]) {
    expect((await runJson([name, "list", "--data", folder.path]))[name]).toHaveLength(1);
  }
  const database = openDatabase(join(folder.path, "waypost.db"));
  const done = database.prepare("SELECT name FROM waypost_migrations").all();
  database.close();
  expect(new Set(done.map((row) => JSON.stringify(row))).size).toBe(done.length);
  const said = await Promise.all(servings.map(async ({ stop }) => (await stop()).stderr));
  expect(said.filter((text) => text.includes("Your links open at"))).toHaveLength(1);
  const others = said.filter((text) => text.includes(`(key: ${servings[0]?.places.key_file})`));
  expect(others).toHaveLength(3);
});

function connect({ places, key: token }: Serving) {
  return connectV2({ transport: "http", url: places.mcp, token });
}

/** How a client creates a link: its request, and how it recognizes success. */
type RequestSender = (serving: Serving, path: string) => Promise<McpResponse | "refused">;
type McpRequest = { readonly headers: OutgoingHttpHeaders; readonly body: string };
type McpResponse = {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
};

const ways = [openRest, openModern, openSessions];

function openRest(key: string, agent: Agent): RequestSender {
  const headers = { authorization: `Token ${key}`, "content-type": "application/json" };
  return ({ places }, path) =>
    send(`${places.api}/links`, { headers, body: JSON.stringify(writeLink(path)) }, agent);
}

function openModern(key: string, agent: Agent): RequestSender {
  return ({ places }, path) =>
    send(places.mcp, modernCall(key, 1, "create_link", writeLink(path)), agent);
}

/** Uses a session at each process and starts a new one when it is unknown. */
function openSessions(key: string, agent: Agent): RequestSender {
  const sessions = new Map<string, string>();
  let calls = 0;
  return async ({ places: { mcp } }, path) => {
    const session = sessions.get(mcp);
    if (session === undefined) {
      const opened = await send(mcp, withSession(key, undefined, handshake[0]), agent);
      if (opened === "refused") return opened;
      expect(opened.status).toBe(200);
      sessions.set(mcp, String(opened.headers["mcp-session-id"]));
      return "refused";
    }
    const call = callOf((calls += 1), "create_link", writeLink(path));
    const sent = await send(mcp, withSession(key, session, call), agent);
    if (sent === "refused" || sent.status !== 404) return sent;
    sessions.delete(mcp);
    return "refused";
  };
}

function writeLink(path: string) {
  return { path, url: "https://example.com" };
}

async function writeUntil(
  over: AbortSignal,
  servings: readonly Serving[],
  way: RequestSender,
  name: string,
): Promise<number> {
  let count = 0;
  for (let turn = 0; !over.aborted; turn += 1) {
    const serving = servings[turn % servings.length];
    const path = `${name}-${turn}`;
    const sent = serving === undefined ? "refused" : await way(serving, path);
    if (sent === "refused") continue;
    expect([sent.status, sent.text]).toEqual([
      expect.toBeOneOf([200, 201]),
      expect.stringContaining(`"path":"${path}"`),
    ]);
    count += 1;
  }
  return count;
}

/** Returns "refused" if the server cannot have read the request. Throws any other error. */
async function send(
  url: string,
  { headers, body }: McpRequest,
  agent: Agent,
): Promise<McpResponse | "refused"> {
  const asked = request(url, { method: "POST", headers, agent });
  asked.end(body);
  try {
    // The event's first argument.
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    let text = "";
    response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    await once(response, "end");
    const { statusCode: status = 0, headers: received } = response;
    checkText({ method: "POST", url, body }, { status, headers: received, text });
    return { status, text, headers: received };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ECONNREFUSED") return "refused";
    if (code === "ECONNRESET" && asked.reusedSocket) return "refused";
    throw error;
  }
}

async function countLinks(serving: Serving | undefined): Promise<number> {
  return (await serving?.call("GET", "/links?limit=1"))?.body.meta.count;
}
