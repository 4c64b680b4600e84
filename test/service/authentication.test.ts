import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import type { Scope } from "../../src/contract/scopes-and-roles.ts";
import { deleteKey, listKeys } from "../../src/store/keys.ts";
import { createWorld, type Given, type World } from "../support/world.ts";

/** api-spec.md, "Authentication": who may call what, and each cause of a 401. */

const unknownId = "0190a000-0000-7000-8000-000000000000";

/** Every endpoint of a project with its scope, as the spec lists them. */
const endpoints: readonly (readonly [method: string, path: string, scope: Scope])[] = [
  ["GET", "/links", "links.index"],
  ["POST", "/links", "links.create"],
  ["POST", "/links/upsert", "links.create"],
  ["GET", `/links/${unknownId}`, "links.show"],
  ["PATCH", `/links/${unknownId}`, "links.update"],
  ["PUT", `/links/${unknownId}`, "links.update"],
  ["DELETE", `/links/${unknownId}`, "links.destroy"],
  ["POST", "/short_links", "short_links.create"],
  ["GET", "/ios_apps", "ios_apps.index"],
  ["POST", "/ios_apps", "ios_apps.create"],
  ["GET", `/ios_apps/${unknownId}`, "ios_apps.show"],
  ["PATCH", `/ios_apps/${unknownId}`, "ios_apps.update"],
  ["PUT", `/ios_apps/${unknownId}`, "ios_apps.update"],
  ["DELETE", `/ios_apps/${unknownId}`, "ios_apps.destroy"],
  ["GET", "/android_apps", "android_apps.index"],
  ["POST", "/android_apps", "android_apps.create"],
  ["GET", `/android_apps/${unknownId}`, "android_apps.show"],
  ["PATCH", `/android_apps/${unknownId}`, "android_apps.update"],
  ["PUT", `/android_apps/${unknownId}`, "android_apps.update"],
  ["DELETE", `/android_apps/${unknownId}`, "android_apps.destroy"],
];

const projectEndpoints: typeof endpoints = [
  ["GET", "/projects", "links.index"],
  ["POST", "/projects", "links.index"],
  ["GET", `/projects/${unknownId}`, "links.index"],
  ["PATCH", `/projects/${unknownId}`, "links.index"],
  ["DELETE", `/projects/${unknownId}`, "links.index"],
];

/** A call whose body is refused once the caller is known; so nothing is ever written. */
async function knock(world: World, method: string, path: string, given: Given) {
  const body = method.startsWith("P") ? [] : undefined;
  const { status, body: reply } = await world.call(method, path, { body, ...given });
  return [method, path, status, reply];
}

function isOpen(status: unknown): boolean {
  return status !== 401;
}

test("every endpoint but resolve is closed without a key, and to an unknown key", async () => {
  await using world = await createWorld();
  for (const [method, path] of [...endpoints, ...projectEndpoints]) {
    const missing = await knock(world, method, path, { key: null });
    expect(missing).toEqual([method, path, 401, { error: messages.key_missing }]);
    const invalid = await knock(world, method, path, { key: "waypost_unknown" });
    expect(invalid).toEqual([method, path, 401, { error: messages.key_invalid }]);
  }
  const body = { url: "http://default.localhost:8787/a" };
  const resolved = await world.call("POST", "/short_links/resolve", { key: null, body });
  expect([resolved.status, resolved.body]).toEqual([404, { error: "Link not found" }]);
});

test("a key travels in the header or in api_key", async () => {
  await using world = await createWorld();
  const { key } = world;
  const status = async (authorization: string | null, query?: string) => {
    const headers = authorization === null ? {} : { authorization };
    const given = { key: null, headers, ...(query !== undefined && { query }) };
    return (await world.call("GET", "/links", given)).status;
  };
  expect(await status(`Token ${key}`)).toBe(200);
  expect(await status(`token   ${key}`)).toBe(200);
  expect(await status(`TOKEN token="${key}"`)).toBe(200);
  expect(await status(`Token token=${key}`)).toBe(200);
  expect(await status(`Bearer ${key}`)).toBe(200);
  expect(await status(`bearer\t${key} `)).toBe(200);
  expect(await status(null, `api_key=${key}`)).toBe(200);
  expect(await status(null, `page=1&api_key=${key}&q[s]=name`)).toBe(200);
  expect(await status(`Token ${key}`, `api_key=${key}`)).toBe(200);
  expect(await status(`Token ${key}`, "api_key=")).toBe(200);
  const posted = { key: null, query: `api_key=${key}`, body: {} };
  expect((await world.call("POST", "/links", posted)).status).toBe(201);
});

test("what is no key, or is not a known one, is told apart", async () => {
  await using world = await createWorld();
  const other = await world.addKey();
  const { key } = world;
  const cases = [
    ["", undefined, messages.key_missing],
    [key, undefined, messages.key_malformed],
    ["Token", undefined, messages.key_malformed],
    ["Bearer", undefined, messages.key_malformed],
    [`Token token="${key}`, undefined, messages.key_malformed],
    [`Token token=${key}"`, undefined, messages.key_malformed],
    ['Token token=""', undefined, messages.key_malformed],
    [`Tokens ${key}`, undefined, messages.key_malformed],
    [`Bearer ${other}`, `api_key=${key}`, messages.key_ambiguous],
    ["Bearer unknown", undefined, messages.key_invalid],
    [`Basic ${btoa(`${key}:`)}`, undefined, messages.key_malformed],
    [`Token ${key}, Token ${other}`, undefined, messages.key_malformed],
    ["", "api_key=", messages.key_missing],
    ["", "api_key=%20", messages.key_missing],
    ["", `API_KEY=${key}`, messages.key_missing],
    [`Token ${key.toUpperCase()}`, undefined, messages.key_invalid],
    [`Token ${key.slice(0, -1)}`, undefined, messages.key_invalid],
    [`Token ${key}x`, undefined, messages.key_invalid],
    ["", `api_key=${key}%00`, messages.key_invalid],
    ["", "api_key=' or 1=1 --", messages.key_invalid],
    [`Token ${key}`, `api_key=${other}`, messages.key_ambiguous],
    [`Token ${key}`, "api_key=unknown", messages.key_ambiguous],
    ["", `api_key=${key}&api_key=${other}`, messages.key_ambiguous],
  ] as const;
  for (const [authorization, query, error] of cases) {
    const headers = { authorization };
    const given = { key: null, headers, ...(query !== undefined && { query }) };
    const reply = await world.call("GET", "/links", given);
    const wanted = [authorization, query, 401, { error }];
    expect([authorization, query, reply.status, reply.body]).toEqual(wanted);
  }
});

test("each cause of a 401 comes with the scheme by which a key is shown", async () => {
  await using world = await createWorld();
  const suspended = await world.addKey({ project: await world.addProject({ suspended: true }) });
  const scoped = await world.addKey({ scopes: ["links.show"] });
  for (const key of [null, "waypost_unknown", world.master, suspended, scoped]) {
    const { status, headers } = await world.call("GET", "/links", { key });
    expect([status, headers.get("www-authenticate")]).toEqual([401, 'Token realm="Waypost"']);
  }
  const { headers } = await world.call("GET", `/links/${unknownId}`);
  expect(headers.get("www-authenticate")).toBeNull();
});

test("a revoked key is refused from the next request on", async () => {
  await using world = await createWorld();
  const known = new Set((await listKeys(world.store.db)).map(({ id }) => id));
  const key = await world.addKey();
  expect((await world.call("GET", "/links", { key })).status).toBe(200);
  for (const { id } of await listKeys(world.store.db)) {
    if (!known.has(id)) await world.store.write((db) => deleteKey(db, id));
  }
  const reply = await world.call("GET", "/links", { key });
  expect([reply.status, reply.body]).toEqual([401, { error: messages.key_invalid }]);
  expect((await world.call("GET", "/links")).status).toBe(200);
});

test("a key with scopes opens the endpoints of its scopes and no other", async () => {
  await using world = await createWorld();
  for (const granted of new Set(endpoints.map(([, , scope]) => scope))) {
    const key = await world.addKey({ scopes: [granted] });
    for (const [method, path, scope] of endpoints) {
      const [, , status, body] = await knock(world, method, path, { key });
      const refusal = [401, { error: messages.scope_missing(scope) }];
      const wanted = scope === granted ? [expect.toSatisfy(isOpen), expect.anything()] : refusal;
      expect([granted, method, path, status, body]).toEqual([granted, method, path, ...wanted]);
    }
  }
});

test("several scopes open all of their endpoints, none at all opens everything", async () => {
  await using world = await createWorld();
  const scopes: Scope[] = ["links.show", "ios_apps.destroy", "page_templates.publish"];
  const some = await world.addKey({ scopes });
  for (const [method, path, scope] of endpoints) {
    const [, , status] = await knock(world, method, path, { key: some });
    expect([method, path, status === 401]).toEqual([method, path, !scopes.includes(scope)]);
    const [, , full] = await knock(world, method, path, { key: world.key });
    expect([method, path, full]).not.toContain(401);
  }
});

test("a key that may only create cannot replace a link by upsert", async () => {
  await using world = await createWorld();
  const creator = await world.addKey({ scopes: ["links.create"] });
  const updater = await world.addKey({ scopes: ["links.update"] });
  const both = await world.addKey({ scopes: ["links.create", "links.update"] });
  const upsert = async (key: string, name: string) =>
    world.call("POST", "/links/upsert", { key, body: { path: "a", name } });
  expect((await upsert(updater, "one")).body.error).toBe(messages.scope_missing("links.create"));
  expect((await upsert(creator, "two")).status).toBe(201);
  const refused = await upsert(creator, "three");
  expect([refused.status, refused.body.error]).toEqual([
    401,
    messages.scope_missing("links.update"),
  ]);
  expect((await world.call("GET", "/links")).body.links).toMatchObject([{ name: "two" }]);
  expect((await upsert(both, "four")).status).toBe(200);
});

test("apps are read by a viewer and written by managers and owners", async () => {
  await using world = await createWorld();
  for (const role of ["viewer", "manager", "owner"] as const) {
    const key = await world.addKey({ role });
    for (const [method, path] of endpoints.filter(([, path]) => path.includes("_apps"))) {
      const [, , status, body] = await knock(world, method, path, { key });
      const isAllowed = method === "GET" || role !== "viewer";
      const refusal = [401, { error: messages.role_required("manager") }];
      const wanted = isAllowed ? [expect.toSatisfy(isOpen), expect.anything()] : refusal;
      expect([role, method, path, status, body]).toEqual([role, method, path, ...wanted]);
    }
  }
});

test("a viewer's key reads links and apps, reads no templates, and writes nothing", async () => {
  await using world = await createWorld();
  const key = await world.addKey({ role: "viewer" });
  const before = world.store.countWrites();
  for (const [method, path] of endpoints) {
    const [, , status, body] = await knock(world, method, path, { key });
    const isRead = method === "GET" && !path.startsWith("/page_template");
    const isKeyless = path === "/short_links/resolve";
    const refusal = [401, { error: messages.role_required("manager") }];
    const wanted = isRead || isKeyless ? [expect.toSatisfy(isOpen), expect.anything()] : refusal;
    expect([method, path, status, body]).toEqual([method, path, ...wanted]);
  }
  expect(world.store.countWrites()).toBe(before);
});

test("a manager's key writes links and short links", async () => {
  await using world = await createWorld();
  const key = await world.addKey({ role: "manager" });
  for (const [method, path] of endpoints.filter(([, path]) => path.includes("links"))) {
    expect(await knock(world, method, path, { key })).not.toContain(401);
  }
});

test("a suspended account is refused everywhere, and no other account with it", async () => {
  await using world = await createWorld();
  const suspended = await world.addProject({ suspended: true });
  const key = await world.addKey({ project: suspended });
  for (const [method, path] of [...endpoints, ...projectEndpoints]) {
    const refusal = [method, path, 401, { error: messages.account_suspended }];
    expect(await knock(world, method, path, { key })).toEqual(refusal);
  }
  expect((await world.call("GET", "/links")).status).toBe(200);
  expect((await world.call("GET", "/projects", { key: world.master })).status).toBe(200);
});

test("a master key reaches projects and nothing else, a project key never projects", async () => {
  await using world = await createWorld();
  for (const [method, path] of endpoints) {
    const refusal = [method, path, 401, { error: messages.project_key_required }];
    expect(await knock(world, method, path, { key: world.master })).toEqual(refusal);
  }
  for (const [method, path] of projectEndpoints) {
    const refusal = [method, path, 401, { error: messages.master_required }];
    expect(await knock(world, method, path, { key: world.key })).toEqual(refusal);
    expect(await knock(world, method, path, { key: world.master })).not.toContain(401);
  }
});

test("no answer repeats a key", async () => {
  await using world = await createWorld();
  const other = await world.addKey();
  const given = { headers: { authorization: `Token ${world.key}` }, query: `api_key=${other}` };
  for (const reply of [
    await world.call("GET", "/links", given),
    await world.call("GET", "/links", { key: "waypost_secret" }),
    await world.call("POST", "/links", { body: "{" }),
  ]) {
    const seen = JSON.stringify([reply.text, ...reply.headers]);
    for (const token of [world.key, other, "waypost_secret"]) expect(seen).not.toContain(token);
  }
});
