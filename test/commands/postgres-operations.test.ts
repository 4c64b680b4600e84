import { expect, test } from "vitest";
import { browse } from "../support/console.ts";
import { createUsedFolder, startServe } from "../support/command.ts";
import { visit } from "../support/listening.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { modernCall, post, withSession, handshake } from "../support/mcp-http.ts";
import { openPostgresProxy } from "../support/postgres-proxy.ts";
import { takeDatabase } from "../support/postgres.ts";
import { measured, readSeries } from "./scrape.ts";
import { waitUntil } from "../support/clock.ts";

/** `waypost serve` with PostgreSQL, and while PostgreSQL is down. */

test("serve is not ready while PostgreSQL is down and is ready again afterwards", async () => {
  await using database = await takeDatabase();
  await using proxy = await openPostgresProxy(database.url);
  await using folder = await createUsedFolder();
  const env = { ...measured.env, WAYPOST_DATABASE_URL: proxy.url };
  await using serving = await startServe(folder.path, [], { env });
  const { call, places } = serving;
  const ask = async (path: string) => {
    const { status, text } = await post(places.url + path, { method: "GET" });
    return [status, JSON.parse(text)];
  };
  // The process is not ready while PostgreSQL takes more than a second to respond.
  const patience = { timeout: 60_000 };
  await expect.poll(() => ask("/readyz"), patience).toEqual([200, { status: "ready" }]);
  const body = { path: "one", url: "https://a.example" };
  expect((await call("POST", "/links", { body })).status).toBe(201);
  const before = await readSeries(serving);
  expect(before.get('waypost_pool_connections{state="open"}')).toBeGreaterThan(0);
  const waiting = 'waypost_pool_connections{state="waiting"}';
  await expect.poll(async () => (await readSeries(serving)).get(waiting), patience).toBe(0);
  // The state is in the same database, and its series would count everything twice.
  expect([...before.keys()].filter((name) => name.startsWith("waypost_store_"))).toEqual([
    'waypost_store_commits_total{store="links"}',
  ]);
  expect(before.get('waypost_store_commits_total{store="links"}')).toBeGreaterThan(0);

  const told = serving.untilSaid(/the database is not responding/);
  // The click will be written within the next second, while the database is down.
  await visit(`http://default.localhost:${new URL(places.url).port}/one`);
  proxy.cut();
  await waitUntil(async () => (await ask("/readyz"))[0] === 503);
  expect(await ask("/readyz")).toEqual([503, { status: "store unavailable" }]);
  expect(await ask("/healthz")).toMatchObject([200, { status: "ok" }]);
  // Tokens cannot be checked, so tool calls get 503 as well.
  const { key } = serving;
  const session = withSession(key, undefined, handshake[0]);
  for (const call of [modernCall(key, 1, "list_links"), session]) {
    const refused = await post(places.mcp, call);
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"]);
    const data = { code: "overloaded", effect: "none", retry: "later", retry_after_s: 1 };
    // The message of an unknown caller is not read, so its ID is null.
    const error = { code: -32001, message: expect.stringContaining("database"), data };
    expect(JSON.parse(refused.text)).toEqual({ jsonrpc: "2.0", id: null, error });
  }
  const away = await readSeries(serving);
  expect(away.get('waypost_requests_total{route="POST /links",status="2xx"}')).toBe(1);
  expect(away.get('waypost_mcp_requests_total{status="5xx"}')).toBe(2);

  await told;
  proxy.restore();
  await waitUntil(async () => (await ask("/readyz"))[0] === 200);
  expect((await call("GET", "/links")).status).toBe(200);
  expect((await post(places.mcp, modernCall(key, 1, "list_links"))).status).toBe(200);
  const { stderr } = await serving.stop();
  // Logged once as a warning, not as an unexpected error.
  const lines = stderr
    .split("\n")
    .filter((line) => line.includes("the database is not responding"));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 40, reason: expect.stringContaining("cannot be reached") },
  ]);
  expect(stderr).not.toContain('"level":50');
});

test("every interface reports that PostgreSQL is down and recovers without a restart", async () => {
  await using database = await takeDatabase();
  await using proxy = await openPostgresProxy(database.url);
  await using folder = await createUsedFolder();
  const env = { WAYPOST_DATABASE_URL: proxy.url };
  await using serving = await startServe(folder.path, [], { env });
  await using local = await connectV2({ transport: "stdio", data: folder.path, env });
  const { key, places } = serving;
  const link = { path: "one", url: "https://a.example" };
  await local.callTool("create_link", link);
  const planned = await local.callTool("plan_links", { operation: "upsert", rows: [link] });
  const asked = await local.callTool("delete_link", { id: "one" });
  const shown = await local.callTool("preview_template", {});
  const tab = browse(places.url);
  await tab.open("/sign-in");
  await tab.submit({ key });
  const pages = [asked.structured.error.approval.url, shown.structured.preview_url];
  const doors: Readonly<Record<string, () => Promise<readonly [number, string]>>> = {
    approval: async () => openPage(pages[0]),
    preview: async () => openPage(pages[1]),
    console: async () => readShown(await tab.open("/links")),
    "a form of the console": async () => readShown(await tab.post("/links", {})),
  };
  const calls: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
    ["list_links", {}],
    ["list_changes", {}],
    ["list_jobs", {}],
    ["plan_links", { operation: "upsert", rows: [link] }],
    ["apply_plan", { plan_id: planned.structured.plan.id }],
    ["create_link", { path: "two" }],
    ["update_link", { id: "one", name: "One" }],
    ["delete_link", { id: "one" }],
    ["undo", {}],
  ];
  for (const [door, open] of Object.entries(doors)) {
    expect([door, (await open())[0]]).toEqual([door, 200]);
  }

  proxy.cut();
  for (const [tool, args] of calls) {
    const { structured } = await local.callTool(tool, args);
    const told = { code: "overloaded", effect: "none", retry: "later" };
    expect([tool, structured]).toEqual([tool, { error: expect.objectContaining(told) }]);
    expect(structured.error.message).toContain("The database is not responding.");
  }
  for (const [door, open] of Object.entries(doors)) {
    const [status, text] = await open();
    expect([door, status]).toEqual([door, 503]);
    expect(text).toMatch(/[Tt]he database is not responding/);
    expect(text).toContain("(overloaded)");
  }

  proxy.restore();
  for (const [door, open] of Object.entries(doors)) {
    await waitUntil(async () => (await open())[0] === 200);
    expect([door, (await open())[0]]).toEqual([door, 200]);
  }
  for (const [tool, args] of calls) {
    const { structured } = await local.callTool(tool, args);
    expect([tool, structured.error?.code ?? "done"]).toEqual([
      tool,
      tool === "delete_link"
        ? "approval_required"
        : expect.stringMatching(/done|approval_required/),
    ]);
  }
});

async function openPage(url: string): Promise<readonly [number, string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

function readShown({ status, text }: { readonly status: number; readonly text: string }) {
  return [status, text] as const;
}
