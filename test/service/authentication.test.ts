import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { deleteKey, listKeys } from "../../src/store/keys.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests how a key is sent, and the message for each cause of a 401. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";

test("a key is accepted in the Authorization header and in the api_key parameter", async () => {
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

test("missing, malformed, ambiguous and unknown keys cause different error messages", async () => {
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

test("every 401 has a WWW-Authenticate header", async () => {
  const suspended = await world.addKey({ project: await world.addProject({ suspended: true }) });
  const scoped = await world.addKey({ scopes: ["links.show"] });
  for (const key of [null, "waypost_unknown", world.master, suspended, scoped]) {
    const { status, headers } = await world.call("GET", "/links", { key });
    expect([status, headers.get("www-authenticate")]).toEqual([401, 'Token realm="Waypost"']);
  }
  const { headers } = await world.call("GET", `/links/${unknownId}`);
  expect(headers.get("www-authenticate")).toBeNull();
});

test("a revoked key is rejected from the next request on", async () => {
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

test("no response contains the API key that was sent with the request", async () => {
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
