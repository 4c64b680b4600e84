import { expect, test } from "vitest";
import { createWorld, type CallInput, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests projects, which only a master key may manage. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";

function asMaster(world: World, method: string, path: string, given: CallInput = {}) {
  return world.call(method, path, { key: world.master, ...given });
}

async function makeProject(world: World, project: object) {
  const reply = await asMaster(world, "POST", "/projects", { body: { project } });
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

test("a project can be created, read, listed, updated and deleted", async () => {
  const fields = { name: "Shop", subdomain: "shop", custom_domain: "go.example.com" };
  const made = await makeProject(world, fields);
  expect(made).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    ...fields,
    custom_domain_verified: false,
    links_count: 0,
  });
  const shown = await asMaster(world, "GET", `/projects/${made.id}`);
  expect([shown.status, shown.body]).toEqual([200, made]);
  const listed = await asMaster(world, "GET", "/projects");
  expect(listed.status).toBe(200);
  expect(listed.body.projects).toContainEqual(made);
  expect(listed.body.meta).toMatchObject({ page: 1, limit: 20, count: 2 });

  const body = { project: { name: "Store" } };
  const changed = await asMaster(world, "PATCH", `/projects/${made.id}`, { body });
  expect([changed.status, changed.body]).toEqual([200, { ...made, name: "Store" }]);
  const deleted = await asMaster(world, "DELETE", `/projects/${made.id}`);
  expect([deleted.status, deleted.text]).toEqual([204, ""]);
  expect((await asMaster(world, "GET", "/projects")).body.meta.count).toBe(1);
});

test("custom_domain is null by default and is removed by null or an empty string", async () => {
  const made = await makeProject(world, { name: "Shop", subdomain: "shop" });
  expect(made.custom_domain).toBeNull();
  for (const [given, kept] of [
    ["go.example.com", "go.example.com"],
    [null, null],
    ["Go.Example.COM", "go.example.com"],
    ["", null],
  ]) {
    const body = { project: { custom_domain: given } };
    const changed = await asMaster(world, "PATCH", `/projects/${made.id}`, { body });
    expect(changed.body).toEqual({ ...made, custom_domain: kept });
  }
});

test("links_count does not include a project's deleted links", async () => {
  const other = await world.addProject();
  const key = await world.addKey({ project: other });
  const first = await world.call("POST", "/links", { body: {} });
  await world.call("POST", "/links", { body: {} });
  await world.call("POST", "/links", { key, body: {} });
  await world.call("POST", "/links", { body: { url: "javascript:1" } });
  await world.call("DELETE", `/links/${first.body.id}`);
  await world.call("POST", "/short_links", { body: { url: "https://example.com/" } });
  const { projects } = (await asMaster(world, "GET", "/projects")).body;
  const counts = Object.fromEntries(
    projects.map((project: { id: string; links_count: number }) => [
      project.id,
      project.links_count,
    ]),
  );
  expect(counts).toEqual({ [world.project.id]: 2, [other.id]: 1 });
  const shown = await asMaster(world, "GET", `/projects/${world.project.id}`);
  expect(shown.body.links_count).toBe(2);
});

test.each(["GET", "PATCH", "DELETE"])(
  "%s /projects/:id returns 404 for an unknown project",
  async (method) => {
    for (const id of [unknownId, "default", "1"]) {
      const body = method === "PATCH" ? { project: { name: "new" } } : undefined;
      const reply = await asMaster(world, method, `/projects/${id}`, { body });
      expect([reply.status, reply.body]).toEqual([404, { error: "Project not found" }]);
    }
  },
);

test("read-only fields and operator settings cannot be set through the API", async () => {
  const foreign = {
    id: unknownId,
    custom_domain_verified: true,
    links_count: 9,
    plan: "free",
    suspended: true,
    max_links: 0,
  };
  const made = await makeProject(world, { name: "Shop", subdomain: "shop", ...foreign });
  expect(made).toMatchObject({ custom_domain_verified: false, links_count: 0 });
  expect(made.id).not.toBe(unknownId);
  const path = `/projects/${made.id}`;
  const changed = await asMaster(world, "PATCH", path, { body: { project: foreign } });
  expect(changed.body).toEqual(made);
  const key = await world.addKey({ project: made });
  const link = await world.call("POST", "/links", { key, body: { referrer: "pro" } });
  expect(link.status).toBe(201);
});

test("creating or updating a project without the wrapper object returns 400", async () => {
  const bodies = [{}, { name: "Shop", subdomain: "shop" }, { project: null }, { project: [] }];
  for (const body of bodies) {
    for (const [method, path] of [
      ["POST", "/projects"],
      ["PATCH", `/projects/${world.project.id}`],
    ] as const) {
      const reply = await asMaster(world, method, path, { body });
      const wanted = [body, 400, { error: "Required parameter is missing: project." }];
      expect([body, reply.status, reply.body]).toEqual(wanted);
    }
  }
});

const refusals = [
  [{ name: "" }, "Name can't be blank"],
  [{ name: null }, "Name can't be blank"],
  [{ name: "n".repeat(501) }, "Name is invalid"],
  [{ name: [5] }, "Name must be a string"],
  [{ subdomain: " " }, "Subdomain can't be blank"],
  [{ subdomain: null }, "Subdomain can't be blank"],
  [{ subdomain: "two.labels" }, "Subdomain is invalid"],
  [{ subdomain: "-shop" }, "Subdomain is invalid"],
  [{ subdomain: "shop_1" }, "Subdomain is invalid"],
  [{ subdomain: "läden" }, "Subdomain is invalid"],
  [{ subdomain: "s".repeat(64) }, "Subdomain is invalid"],
  [{ subdomain: "default" }, "Subdomain has already been taken"],
  [{ subdomain: "DEFAULT" }, "Subdomain has already been taken"],
  [{ custom_domain: "example" }, "Custom domain is invalid"],
  [{ custom_domain: "https://example.com" }, "Custom domain is invalid"],
  [{ custom_domain: "example.com:80" }, "Custom domain is invalid"],
  [{ custom_domain: "192.0.2.1" }, "Custom domain is invalid"],
  [{ custom_domain: "taken.example.com" }, "Custom domain has already been taken"],
  [{ custom_domain: "Taken.Example.com" }, "Custom domain has already been taken"],
  [{ name: "", subdomain: "" }, "Name can't be blank and Subdomain can't be blank"],
] as const;

test("a project cannot be created or updated with invalid fields", async () => {
  await world.addProject({ custom_domain: "taken.example.com" });
  const given = { name: "Shop", subdomain: "shop" };
  const made = await makeProject(world, given);
  const path = `/projects/${made.id}`;
  for (const [fields, error] of refusals) {
    const other = { ...given, subdomain: "other", ...fields };
    for (const reply of [
      await asMaster(world, "POST", "/projects", { body: { project: other } }),
      await asMaster(world, "PATCH", path, { body: { project: fields } }),
    ]) {
      expect([fields, reply.status, reply.body]).toEqual([fields, 422, { error }]);
    }
  }
  expect((await asMaster(world, "GET", path)).body).toEqual(made);
});

test("a changed custom domain becomes unverified unless only its case changes", async () => {
  const settings = { custom_domain: "go.example.com", custom_domain_verified: true };
  const { id } = await world.addProject(settings);
  const write = async (project: object) =>
    (await asMaster(world, "PATCH", `/projects/${id}`, { body: { project } })).body;
  expect(await write({ name: "New" })).toMatchObject(settings);
  expect(await write({ custom_domain: "GO.example.com" })).toMatchObject(settings);
  expect((await write({ custom_domain: "to.example.com" })).custom_domain_verified).toBe(false);
});

test("deleting a project deletes its keys, links and apps and frees its host names", async () => {
  const names = { subdomain: "shop", custom_domain: "go.example.com" };
  const made = await makeProject(world, { name: "Shop", ...names });
  const key = await world.addKey({ project: made });
  const body = { path: "a", ios_app: { bundle_id: "com.example.app", team_id: "ABCDE12345" } };
  const link = (await world.call("POST", "/links", { key, body })).body;
  await asMaster(world, "DELETE", `/projects/${made.id}`);

  expect((await world.call("GET", `/links/${link.id}`, { key })).status).toBe(401);
  const url = { url: "http://shop.localhost:8787/a" };
  expect((await world.call("POST", "/short_links/resolve", { body: url })).status).toBe(404);
  expect((await asMaster(world, "DELETE", `/projects/${made.id}`)).status).toBe(404);

  const again = await makeProject(world, { name: "Shop", ...names });
  const newKey = await world.addKey({ project: again });
  for (const list of ["links", "ios_apps"]) {
    expect((await world.call("GET", `/${list}`, { key: newKey })).body[list]).toEqual([]);
  }
  await world.store.finishTasks();
  expect((await world.call("GET", `/links/${link.id}`, { key: newKey })).status).toBe(404);
});
