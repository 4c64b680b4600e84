import { expect, test } from "vitest";
import { listMethods } from "../../src/contract/endpoint.ts";
import { listEndpoints } from "../../src/contract/index.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the paths and methods of the API, and other spellings of paths. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";

test.each(["/", ".json", ".json/"])("an API path can end with %j", async (end) => {
  const link = (await world.call("POST", `/links${end}`, { body: { path: "a" } })).body;
  const url = "http://default.localhost:8787/a";
  for (const [method, path, body, status] of [
    ["GET", `/links/${link.id}`, undefined, 200],
    ["GET", "/links", undefined, 200],
    ["PATCH", `/links/${link.id}`, { name: "b" }, 200],
    ["POST", "/links/upsert", { path: "a" }, 200],
    ["POST", "/short_links", { url }, 201],
    ["POST", "/short_links/resolve", { url }, 200],
    ["GET", `/ios_apps/${unknownId}`, undefined, 404],
    ["DELETE", `/links/${link.id}`, undefined, 204],
    ["POST", `/links/${link.id}/restore`, undefined, 200],
  ] as const) {
    const reply = await world.call(method, path + end, { body });
    expect([path, reply.status]).toEqual([path, status]);
  }
  expect((await world.call("GET", `/links${end}`, { query: "page=2" })).body.meta.page).toBe(2);
});

test("PUT updates a project and saves a page template, as PATCH does", async () => {
  const project = await world.addProject();
  const body = { project: { name: "Renamed" } };
  const put = await world.call("PUT", `/projects/${project.id}`, { key: world.master, body });
  expect([put.status, put.body.name]).toEqual([200, "Renamed"]);
  const saved = await world.call("PUT", "/page_template", {
    body: { body: "{% store_buttons %}" },
  });
  expect(saved.status, saved.text).toBe(201);
});

const wrongMethods = [
  ["PATCH", "/links", "GET, HEAD, POST, OPTIONS"],
  ["DELETE", "/links/", "GET, HEAD, POST, OPTIONS"],
  ["POST", `/links/${unknownId}.json`, "GET, HEAD, PATCH, PUT, DELETE, OPTIONS"],
  ["GET", "/short_links", "POST, OPTIONS"],
  ["HEAD", "/short_links/resolve", "POST, OPTIONS"],
  ["PUT", "/links/upsert", undefined],
  ["PATCH", "/links/upsert", undefined],
  ["PUT", "/short_links/resolve", "POST, OPTIONS"],
  ["GET", "/page_template/publish", "POST, OPTIONS"],
  ["GET", "/page_template", "PATCH, PUT, OPTIONS"],
] as const;

test.each(wrongMethods)("%s %s returns 405 and lists the allowed methods", async (...asked) => {
  const [method, path, allow] = asked;
  await using world = await createWorld();
  for (const key of [world.key, null]) {
    const reply = await world.call(method, path, { key, body: undefined });
    // For these methods, "upsert" is read as the ID of a link.
    if (allow === undefined) {
      expect([401, 400]).toContain(reply.status);
      continue;
    }
    expect([reply.status, reply.headers.get("allow")]).toEqual([405, allow]);
    const error = `Method not allowed: this path supports only ${allow}.`;
    expect(reply.body).toEqual(method === "HEAD" ? null : { error });
  }
});

test("OPTIONS without a key returns the allowed methods of every path", async () => {
  for (const entry of listEndpoints()) {
    const path = entry.path.replace(":id", unknownId);
    const reply = await world.call("OPTIONS", path, { key: null });
    expect([path, reply.status, reply.text]).toEqual([path, 204, ""]);
    const allowed = reply.headers.get("allow")?.split(", ");
    expect(allowed).toEqual(expect.arrayContaining([...listMethods(entry), "OPTIONS"]));
  }
});

test("HEAD returns the same status and headers as GET but no body", async () => {
  const { id } = (await world.call("POST", "/links", { body: {} })).body;
  for (const [path, key] of [
    ["/links", world.key],
    [`/links/${id}`, world.key],
    [`/links/${unknownId}`, world.key],
    ["/links", null],
    ["/nothing", world.key],
  ] as const) {
    const [head, get] = [
      await world.call("HEAD", path, { key }),
      await world.call("GET", path, { key }),
    ];
    expect([path, head.status, head.text]).toEqual([path, get.status, ""]);
    expect([...head.headers]).toEqual([...get.headers]);
  }
});
