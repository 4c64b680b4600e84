import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { insertShortPath } from "../../src/store/links.ts";
import type { Tenant } from "../../src/store/tables.ts";
import { openForEach } from "../support/open-for.ts";
import { addLink, now } from "../support/rows.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests GET /browser_paths, which lists the paths that only open in the browser. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

function addLinks(write: (tenant: Tenant) => Promise<void>): Promise<void> {
  const { store, project } = world;
  return store.write((db) => write({ db, projectId: project.id }));
}

async function read(key?: string) {
  const reply = await world.call("GET", "/browser_paths", key === undefined ? {} : { key });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.browser_paths;
}

test("GET /browser_paths returns the paths of links without an app, oldest first", async () => {
  expect(await read()).toEqual({ paths: [], are_all: true });
  await addLinks(async (tenant) => {
    const second = await addLink(tenant, "second", { now: now + 1, shortened_path: "s2" });
    await addLink(tenant, "first");
    await insertShortPath(tenant, { linkId: second, path: "a", query: "a=1" });
  });
  const ios_app = { bundle_id: "com.example.one", team_id: "ABCDE12345" };
  await world.call("POST", "/links", { body: { path: "in-app", ios_app } });
  expect(await read()).toEqual({ paths: ["first", "second", "s2", "a"], are_all: true });
});

test("GET /browser_paths omits a path that contains * and sets are_all to false", async () => {
  await addLinks(async (tenant) => {
    await addLink(tenant, "star-*");
    await addLink(tenant, "later", { now: now + 1 });
  });
  expect(await read()).toEqual({ paths: ["later"], are_all: false });
});

test("GET /browser_paths returns at most 200 paths", async () => {
  await addLinks(async (tenant) => {
    for (let count = 0; count < 201; count += 1) {
      await addLink(tenant, `web-${count}`, { now: now + count });
    }
  });
  const { paths, are_all } = await read();
  expect([paths.length, paths.at(-1), are_all]).toEqual([200, "web-199", false]);
});

test("GET /browser_paths requires a project key with the scope links.index", async () => {
  await addLinks(async (tenant) => {
    await addLink(tenant, "web");
  });
  const project = await world.addProject();
  expect(await read(await world.addKey({ project }))).toEqual({ paths: [], are_all: true });
  const listing = await world.addKey({ project: world.project, scopes: ["links.index"] });
  expect((await read(listing)).paths).toEqual(["web"]);
  const showing = await world.addKey({ project: world.project, scopes: ["links.show"] });
  for (const [key, error] of [
    [null, messages.key_missing],
    [showing, messages.scope_missing("links.index")],
    [world.master, messages.project_key_required],
  ] as const) {
    const { status, body } = await world.call("GET", "/browser_paths", { key });
    expect([status, body.error]).toEqual([401, error]);
  }
  const refused = await world.call("GET", "/browser_paths?limit=1");
  expect([refused.status, refused.body.error]).toEqual([
    422,
    "Unknown parameter: limit. This endpoint takes none.",
  ]);
});
