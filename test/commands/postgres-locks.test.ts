import { Client } from "pg";
import { expect, test } from "vitest";
import { createUsedFolder, startServe } from "../support/command.ts";
import { visitAt } from "../support/link-host.ts";
import { connectV2 } from "../support/mcp-clients.ts";
import { takeDatabase } from "../support/postgres.ts";

/** Writes that need a row or table that an administrator's session has locked. */

const locked =
  "Another database transaction has locked the data, so nothing was written. Try again later.";

test("a write to a locked row or table fails but succeeds once the lock is released", async () => {
  await using database = await takeDatabase();
  await using folder = await createUsedFolder();
  const env = { WAYPOST_DATABASE_URL: database.url };
  await using serving = await startServe(folder.path, [], { env });
  await using local = await connectV2({ transport: "stdio", data: folder.path, env });
  const make = async (path: string): Promise<string> => {
    const body = { path, name: "Before", url: "https://a.example" };
    return (await serving.call("POST", "/links", { body })).body.id;
  };
  const [one, two] = [await make("one"), await make("two")];
  const rename = (id: string) => serving.call("PATCH", `/links/${id}`, { body: { name: "After" } });
  const readNames = async () => {
    const { body } = await serving.call("GET", "/links");
    return Object.fromEntries(
      body.links.map((link: { path: string; name: string }) => [link.path, link.name]),
    );
  };
  const administrator = new Client(database.url);
  await administrator.connect();

  // A locked row. A write to another row waits for the first write and succeeds.
  await administrator.query("begin");
  await administrator.query("select 1 from links where id = $1 for update", [one]);
  const [refused, served] = await Promise.all([rename(one), rename(two)]);
  expect([refused.status, refused.body]).toEqual([503, { error: locked }]);
  expect(served.status).toBe(200);
  expect(await readNames()).toEqual({ one: "Before", two: "After" });
  await administrator.query("rollback");

  // Locked tables. A failed write is known to have had no effect, and visits are kept.
  await administrator.query("begin; lock table links, visit_counts in share mode");
  const { port } = new URL(serving.places.url);
  const visited = await visitAt(Number(port), "/two", { host: `default.localhost:${port}` });
  expect(visited.status).toBe(302);
  const link = { path: "three", name: "Three", url: "https://a.example" };
  const { structured } = await local.callTool("create_link", link);
  expect(structured.error).toEqual({
    code: "overloaded",
    message: locked,
    effect: "none",
    retry: "later",
    retry_after_s: 1,
    next: "Wait a moment, then call create_link again.",
  });
  // A read would wait for visits to be saved, which is not possible now.
  const readClicks = async () => (await serving.call("GET", `/links/${two}`)).body.clicks;
  expect(await readClicks()).toBe(0);
  await administrator.query("rollback");
  await administrator.end();

  expect((await rename(one)).status).toBe(200);
  expect((await local.callTool("create_link", link)).isError).toBe(false);
  expect(await readNames()).toEqual({ one: "After", two: "After", three: "Three" });
  expect(await readClicks()).toBe(1);
  const { stderr } = await serving.stop();
  expect(stderr).not.toContain('"level":50');
});
