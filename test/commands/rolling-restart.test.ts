import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { callDone } from "../support/call-tool.ts";
import {
  createUsedFolder,
  runJson,
  startServe,
  startServes,
  type Serving,
} from "../support/command.ts";
import { listNamed, plan } from "../support/job-site.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Processes of one folder that are stopped and started in turn, while clients go on. */

const clients = 6;

test("no request is lost while each of two processes is restarted", async () => {
  await using folder = await createUsedFolder();
  const servings = [...(await startServes(folder.path, 2))];
  const over = new AbortController();
  // One key's budget would be spent before a slow machine has started both anew.
  const keys: string[] = [];
  while (keys.length < clients) {
    keys.push((await runJson(["keys", "create", "--data", folder.path])).token);
  }
  const loads = keys.map((key, client) => writeUntil(over.signal, servings, key, `c${client}`));
  const written = Promise.all(loads);
  for (const at of [0, 1]) {
    const made = await countLinks(servings[1 - at]);
    await waitUntil(async () => (await countLinks(servings[1 - at])) > made + 20);
    const { code } = (await servings[at]?.stop()) ?? {};
    expect(code).toBe(0);
    servings[at] = await startServe(folder.path);
  }
  over.abort();
  // What was answered is there, and nothing else was sent.
  expect((await written).reduce((sum, count) => sum + count)).toBe(await countLinks(servings[0]));
  for (const { stop } of servings) await stop();
});

test("a job goes on in another process as soon as its own is stopped", async () => {
  await using folder = await createUsedFolder();
  const [one, other] = await startServes(folder.path, 2);
  if (one === undefined || other === undefined) throw new Error("two were started");
  const first = await connect(one);
  const second = await connect(other);
  const rows = listNamed("moved", 60);
  const plan_id = await plan(first, { operation: "upsert", rows });
  const applying = callDone(first, "apply_plan", { plan_id });
  await waitUntil(async () => (await countLinks(other)) > 2);
  const stopped = one.stop();
  // The call that waits for the job has begun, and so it is answered.
  const { job } = await applying;
  expect(job).toMatchObject({ plan_id, state: "running", counts: { unknown: 0 } });
  expect(job.counts.done).toBeLessThan(rows.length);
  expect((await stopped).code).toBe(0);
  // Nobody asks for it there.
  const readJob = () => callDone(second, "get_job", { job_id: job.id });
  await waitUntil(async () => (await readJob()).job.state === "done");
  const ended = await readJob();
  expect(ended.job.counts).toEqual({ done: rows.length, rejected: 0, unknown: 0, left: 0 });
  expect(await countLinks(other)).toBe(rows.length);
  await second.close();
  await first.close().catch(() => undefined);
  await other.stop();
});

test("of many that start at once on a new folder each is ready, and migrated it once", async () => {
  await using folder = await createUsedFolder();
  const servings = await startServes(folder.path, 4);
  for (const { places } of servings) {
    expect((await fetch(`${places.url}/readyz`)).status).toBe(200);
  }
  expect(new Set(servings.map(({ key }) => key)).size).toBe(1);
  const database = openDatabase(join(folder.path, "waypost.db"));
  const done = database.prepare("SELECT name FROM migrations").all();
  database.close();
  expect(new Set(done.map((row) => JSON.stringify(row))).size).toBe(done.length);
  for (const { stop } of servings) await stop();
});

function connect({ places, key: token }: Serving) {
  return connectV2({ transport: "http", url: places.mcp, token });
}

/** Creates links one after another, at whichever process takes its connections; how many. */
async function writeUntil(
  over: AbortSignal,
  servings: readonly Serving[],
  key: string,
  name: string,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let count = 0;
  for (let turn = 0; !over.aborted; turn += 1) {
    const { api } = servings[turn % servings.length]?.places ?? { api: "" };
    const status = await create(api, { key, agent, path: `${name}-${turn}` });
    if (status === "refused") continue;
    expect(status).toBe(201);
    count += 1;
  }
  agent.destroy();
  return count;
}

type Created = { readonly key: string; readonly agent: Agent; readonly path: string };

/**
 * Where no connection was had, nothing was sent. One that was idle may end while a request is on
 * its way to it, where the machine lets this process wait: nobody has read that, and a client asks
 * again; what is counted in the end would tell if it was written. Any other fault is thrown.
 */
async function create(api: string, { key, agent, path }: Created): Promise<unknown> {
  const headers = { authorization: `Token ${key}`, "content-type": "application/json" };
  const asked = request(`${api}/links`, { method: "POST", headers, agent });
  asked.end(JSON.stringify({ path, url: "https://example.com" }));
  try {
    // The first argument of the event.
    const [response] = (await once(asked, "response")) as [IncomingMessage];
    response.resume();
    await once(response, "end");
    return response.statusCode;
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
