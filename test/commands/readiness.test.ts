import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { storeDatabase } from "../../src/store/tables.ts";
import { openDatabase, type Database } from "../../src/sql/engine.ts";
import { begin, createFolder, createServed, run, startServe } from "../support/command.ts";
import { findFreePort } from "../support/ports.ts";
import { waitUntil } from "../support/clock.ts";

/** The health checks of `waypost serve`: /healthz and /readyz. */

const alive = { status: 200, body: { status: "ok", version: expect.stringMatching(/^\d/) } };
const ready = { status: 200, body: { status: "ready" } };

describe("a server process", () => {
  test("returns 200 for health checks with any Host header except a link host", async () => {
    await using served = await createServed();
    const { url } = served.serving.places;
    for (const host of [undefined, "localhost", "10.1.2.3:8787", "[::1]:8787", "lb.example"]) {
      expect([host, await ask(url, "/healthz", { host })]).toEqual([host, alive]);
      expect([host, await ask(url, "/readyz?from=lb", { host })]).toEqual([host, ready]);
    }
    expect(await ask(url, "/readyz", { method: "HEAD" })).toEqual({ status: 200, body: undefined });
    expect((await ask(url, "/readyz", { method: "POST" })).status).toBe(404);
    // On a link host these are normal paths.
    expect((await ask(url, "/readyz", { host: "default.localhost" })).status).toBe(404);
  });

  test("is alive but not ready before its database is open", async () => {
    await using folder = await createFolder();
    await mkdir(folder.path, { mode: 0o700 });
    using held = openStoreFile(folder.path);
    held.database.exec(
      `PRAGMA application_id = ${storeDatabase.applicationId}; PRAGMA journal_mode = WAL`,
    );
    // Another process creates the tables and locks the database meanwhile.
    held.database.exec("BEGIN IMMEDIATE");
    const port = await findFreePort();
    const url = `http://127.0.0.1:${port}`;
    const next = begin(["serve", "--data", folder.path, "--port", `${port}`]);
    await waitUntil(async () => (await tryAsk(url, "/readyz"))?.status === 503);
    expect(await ask(url, "/readyz")).toEqual(unready("starting"));
    expect(await ask(url, "/healthz")).toEqual(alive);
    expect((await ask(url, "/api/v1/links")).status).toBe(503);
    next.send("SIGKILL");
    await next.finished;
  });

  test("is alive but not ready while its database is unreadable or too new", async () => {
    await using served = await createServed();
    const { url } = served.serving.places;
    using held = openStoreFile(served.folder.path);
    held.database.exec("ALTER TABLE waypost_migrations RENAME TO elsewhere");
    expect(await ask(url, "/readyz")).toEqual(unready("store of another version"));
    held.database.exec("CREATE TABLE waypost_migrations (other TEXT)");
    expect(await ask(url, "/readyz")).toEqual(unready("store unavailable"));
    expect(await ask(url, "/healthz")).toEqual(alive);
    held.database.exec(
      "DROP TABLE waypost_migrations; ALTER TABLE elsewhere RENAME TO waypost_migrations",
    );
    expect(await ask(url, "/readyz")).toEqual(ready);

    // With a newer schema, the process keeps running, and no other starts.
    const { folder, serving } = served;
    held.database.exec("INSERT INTO waypost_migrations VALUES ('999-of-tomorrow')");
    expect(await ask(url, "/readyz")).toEqual(unready("store of another version"));
    expect((await serving.call("POST", "/links", { body: { path: "one" } })).status).toBe(201);
    const { code, stderr } = await run(["serve", "--data", folder.path, "--port", "0"]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("because another version wrote it"),
    ]);
  });

  test("is not ready while it is stopping, but still responds to health checks", async () => {
    await using served = await createServed();
    const { serving } = served;
    const { url } = serving.places;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await ask(url, "/readyz", { agent })).toEqual(ready);
    const ended = serving.stop();
    await waitUntil(async () => (await ask(url, "/readyz", { agent })).status === 503);
    expect((await ended).code).toBe(0);
    agent.destroy();
  });
});

test("a gateway reports that it is ready without contacting its remote server", async () => {
  await using folder = await createFolder();
  const env = { WAYPOST_BASE_URL: "https://links.example" };
  await using serving = await startServe(folder.path, [], { env });
  expect(await ask(serving.places.url, "/readyz")).toEqual(ready);
});

function unready(status: string) {
  return { status: 503, body: { status } };
}

type ProbeRequest = {
  readonly host?: string | undefined;
  readonly method?: string;
  readonly agent?: Agent;
};

async function ask(url: string, path: string, { host, method, agent }: ProbeRequest = {}) {
  const headers = host === undefined ? {} : { host };
  const asked = request(url + path, { ...(method && { method }), headers, agent: agent ?? false });
  const [response] = await once(asked.end(), "response");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  const body: unknown = text.startsWith("{") ? JSON.parse(text) : undefined;
  return { status: response.statusCode as unknown, body };
}

function tryAsk(url: string, path: string) {
  return ask(url, path).catch(() => undefined);
}

function openStoreFile(
  folder: string,
  name = "waypost.db",
): { readonly database: Database } & Disposable {
  const database = openDatabase(join(folder, name));
  return { database, [Symbol.dispose]: () => database.close() };
}
