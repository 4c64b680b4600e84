import { expect, test } from "vitest";
import { messages } from "../../src/contract/messages.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the link limit of the free plan, and the fields and endpoints of the Pro plan. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

async function addFreeKey(world: World, max_links = 1000) {
  const project = await world.addProject({ plan: "free", max_links });
  return { project, key: await world.addKey({ project }) };
}

test("the free plan rejects new links above its limit until a link is deleted", async () => {
  const { key } = await addFreeKey(world, 2);
  const create = (path: string) => world.call("POST", "/links", { key, body: { path } });
  const upsert = (path: string) => world.call("POST", "/links/upsert", { key, body: { path } });
  const first = (await create("a")).body;
  expect((await upsert("b")).status).toBe(201);

  const refusal = [401, { error: messages.link_limit(2) }];
  for (const reply of [await create("c"), await upsert("c")]) {
    expect([reply.status, reply.body]).toEqual(refusal);
  }
  expect((await upsert("a")).status).toBe(200);
  const body = { name: "still writable" };
  expect((await world.call("PATCH", `/links/${first.id}`, { key, body })).status).toBe(200);
  await world.call("DELETE", `/links/${first.id}`, { key });
  expect((await create("c")).status).toBe(201);
  expect((await create("d")).status).toBe(401);
});

test("concurrent requests cannot exceed the free plan's link limit", async () => {
  const { key } = await addFreeKey(world, 3);
  const given = { key, body: {} };
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => world.call("POST", "/links", given)),
  );
  expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([
    201, 201, 201, 401, 401, 401,
  ]);
});

test("the Pro plan has no link limit", async () => {
  const project = await world.addProject({ plan: "pro", max_links: 1 });
  const key = await world.addKey({ project });
  for (const path of ["a", "b"]) {
    expect((await world.call("POST", "/links", { key, body: { path } })).status).toBe(201);
  }
});

const proFields = [
  [{ referrer: "a=b" }, "referrer"],
  [{ referrer: 5 }, "referrer"],
  [{ ios_deferred_deep_linking_enabled: "TRUE" }, "ios_deferred_deep_linking_enabled"],
  [{ provider_token: "1", campaign_token: "2" }, "provider_token, campaign_token"],
] as const;

test.each(proFields)(
  "%j requires the Pro plan in every endpoint that writes links",
  async (fields, named) => {
    const { key } = await addFreeKey(world);
    const link = (await world.call("POST", "/links", { key, body: { path: "a" } })).body;
    for (const [method, path, rest] of [
      ["POST", "/links", {}],
      ["POST", "/links/upsert", { path: "new" }],
      ["POST", "/links/upsert", { path: "a" }],
      ["PATCH", `/links/${link.id}`, {}],
      ["PUT", `/links/${link.id}`, {}],
    ] as const) {
      const reply = await world.call(method, path, { key, body: { ...rest, ...fields } });
      const wanted = [method, 401, { error: messages.pro_fields(named) }];
      expect([method, reply.status, reply.body]).toEqual(wanted);
    }
    expect((await world.call("GET", "/links", { key })).body.links).toEqual([link]);
    expect((await world.call("POST", "/links", { body: fields })).status).toBe(201);
  },
);

test("the free plan accepts empty Pro fields and links that are sent back unmodified", async () => {
  const { key } = await addFreeKey(world);
  const empty = {
    referrer: "",
    ios_deferred_deep_linking_enabled: false,
    provider_token: null,
    campaign_token: null,
    options: { shorten: false },
  };
  const made = await world.call("POST", "/links", { key, body: empty });
  expect(made.status).toBe(201);
  const back = await world.call("PATCH", `/links/${made.body.id}`, { key, body: made.body });
  expect([back.status, back.body]).toEqual([200, made.body]);
});

test("shortening a link requires the Pro plan, but resolving a link does not", async () => {
  const { key, project } = await addFreeKey(world);
  const url = `http://${project.subdomain}.localhost:8787/a`;
  await world.call("POST", "/links", { key, body: { path: "a" } });
  const short = await world.call("POST", "/short_links", { key, body: { url } });
  expect([short.status, short.body]).toEqual([401, { error: messages.plan_required }]);
  const body = { options: { shorten: true } };
  const made = await world.call("POST", "/links", { key, body });
  const refusal = { error: messages.pro_fields("options.shorten") };
  expect([made.status, made.body]).toEqual([401, refusal]);
  expect((await world.call("POST", "/short_links/resolve", { body: { url } })).status).toBe(200);
});
