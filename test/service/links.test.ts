import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests creating, reading, changing and deleting links. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const unknownId = "0190a000-0000-7000-8000-000000000000";

const everyPlainField = {
  name: "Spring sale",
  path: "spring/sale",
  social_description: "Everything must go",
  social_image_url: "https://example.com/spring.png",
  social_title: "Spring",
  url: "https://example.com/spring?from=link#top",
  android_fallback_url: "https://example.com/android",
  ios_fallback_url: "https://example.com/ios",
  enable_forced_redirect: true,
  referrer: "utm_source=spring",
  ios_deferred_deep_linking_enabled: true,
  provider_token: "118",
  campaign_token: "spring",
} as const;

test("POST /links stores every field exactly as sent", async () => {
  const link = await world.make("/links", everyPlainField);
  expect(link).toMatchObject({
    ...everyPlainField,
    shortened_path: null,
    ios_app_id: null,
    android_app_id: null,
    clicks: 0,
  });
  expect(link.id).toMatch(uuid);
});

test("POST /links without fields creates a link with a generated path and defaults", async () => {
  const { id, path, ...rest } = await world.make("/links", {});
  expect(id).toMatch(uuid);
  expect(path).toMatch(/^\w+$/);
  expect(rest).toEqual({
    name: null,
    url: null,
    social_description: null,
    social_image_url: null,
    social_title: null,
    shortened_path: null,
    android_fallback_url: null,
    ios_fallback_url: null,
    referrer: null,
    provider_token: null,
    campaign_token: null,
    android_app_id: null,
    ios_app_id: null,
    enable_forced_redirect: false,
    ios_deferred_deep_linking_enabled: false,
    clicks: 0,
  });
});

test("a created link can be read by its ID and appears in the list", async () => {
  const link = await world.make("/links", everyPlainField);
  const shown = await world.call("GET", `/links/${link.id}`);
  expect(shown.status).toBe(200);
  expect(shown.body).toEqual(link);
  const listed = await world.call("GET", "/links");
  expect(listed.status).toBe(200);
  expect(listed.body.links).toEqual([link]);
  expect(listed.body.meta.count).toBe(1);
});

test.each(["GET", "PATCH", "PUT", "DELETE"])(
  "%s /links/:id returns 404 for an unknown ID, a path or a malformed ID",
  async (method) => {
    await using world = await createWorld();
    const link = await world.make("/links", { path: "known", options: { shorten: true } });
    for (const id of [unknownId, "known", link.shortened_path, "1", "%00", "%E0%A4"]) {
      const body = method === "GET" || method === "DELETE" ? undefined : { name: "new" };
      const reply = await world.call(method, `/links/${id}`, { body });
      expect([id, reply.status, reply.body]).toEqual([id, 404, { error: "Link not found" }]);
    }
    expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(link);
    expect(world.reported).toEqual([]);
  },
);

test.each(["PATCH", "PUT"])("%s changes only the link fields that are sent", async (method) => {
  const link = await world.make("/links", everyPlainField);
  const changes = { name: "Summer sale", enable_forced_redirect: false };
  const reply = await world.call(method, `/links/${link.id}`, { body: changes });
  expect(reply.status).toBe(200);
  expect(reply.body).toEqual({ ...link, ...changes });
  expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(reply.body);
});

test.each([null, ""])("sending %j clears a text field of a link", async (empty) => {
  const { path, enable_forced_redirect, ios_deferred_deep_linking_enabled, ...texts } =
    everyPlainField;
  const flags = { path, enable_forced_redirect, ios_deferred_deep_linking_enabled };
  const link = await world.make("/links", everyPlainField);
  const changes = Object.fromEntries(Object.keys(texts).map((field) => [field, empty]));
  const cleared = Object.fromEntries(Object.keys(texts).map((field) => [field, null]));
  const reply = await world.call("PATCH", `/links/${link.id}`, { body: changes });
  expect(reply.body).toEqual({ ...link, ...flags, ...cleared });
});

test("sending a link back unmodified changes nothing", async () => {
  const link = await world.make("/links", { ...everyPlainField, options: { shorten: true } });
  for (const method of ["PATCH", "PUT"]) {
    const reply = await world.call(method, `/links/${link.id}`, { body: link });
    expect([reply.status, reply.body]).toEqual([200, link]);
  }
  const reply = await world.call("POST", "/links/upsert", { body: link });
  expect([reply.status, reply.body]).toEqual([200, link]);
});

test("read-only and unknown link fields are ignored when other fields are sent", async () => {
  const foreign = {
    id: unknownId,
    clicks: 99,
    shortened_path: "mine",
    created_via: "console",
    project_id: unknownId,
    colour: "red",
  };
  const link = await world.make("/links", { path: "a", ...foreign });
  expect(link).toMatchObject({ clicks: 0, shortened_path: null });
  expect(link.id).not.toBe(unknownId);
  const reply = await world.call("PATCH", `/links/${link.id}`, { body: foreign });
  expect(reply.body).toEqual(link);
});

test("a deleted link is not returned, listed or resolved, and its paths are reusable", async () => {
  const link = await world.make("/links", { path: "short-lived", options: { shorten: true } });
  const reply = await world.call("DELETE", `/links/${link.id}`);
  expect([reply.status, reply.text]).toEqual([204, ""]);

  expect((await world.call("GET", `/links/${link.id}`)).status).toBe(404);
  expect((await world.call("DELETE", `/links/${link.id}`)).status).toBe(404);
  expect((await world.call("GET", "/links")).body.links).toEqual([]);
  for (const path of ["short-lived", link.shortened_path]) {
    const url = `http://default.localhost:8787/${path}`;
    const resolved = await world.call("POST", "/short_links/resolve", { body: { url } });
    expect([path, resolved.status]).toEqual([path, 404]);
    await world.make("/links", { path });
  }
});

test("upsert creates a link, or updates the existing link with the same path", async () => {
  const first = await world.call("POST", "/links/upsert", { body: { path: "a", name: "One" } });
  expect([first.status, first.body.name]).toEqual([201, "One"]);
  const again = { path: "/a", url: "https://example.com/" };
  const second = await world.call("POST", "/links/upsert", { body: again });
  expect(second.status).toBe(200);
  expect(second.body).toEqual({ ...first.body, url: "https://example.com/" });
  expect((await world.call("GET", "/links")).body.meta.count).toBe(1);
});

test.each([{}, { path: null }, { path: "" }, { path: "  " }, { path: "/" }])(
  "upsert without a path returns 400: %j",
  async (body) => {
    const reply = await world.call("POST", "/links/upsert", { body });
    expect(reply.status).toBe(400);
    expect(reply.body).toEqual({ error: "Required parameter is missing: path." });
  },
);

test("four concurrent upserts of the same path create a single link", async () => {
  const names = ["one", "two", "three", "four"];
  const replies = await Promise.all(
    names.map((name) => world.call("POST", "/links/upsert", { body: { path: "a", name } })),
  );
  expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([
    200, 200, 200, 201,
  ]);
  expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1);
});

test("only one of two concurrent requests can create a link with the same path", async () => {
  const body = { path: "a" };
  const replies = await Promise.all([1, 2].map(() => world.call("POST", "/links", { body })));
  expect(replies.map((reply) => reply.status).toSorted((a, b) => a - b)).toEqual([201, 422]);
  const refused = replies.find((reply) => reply.status === 422);
  expect(refused?.body).toEqual({ error: "Path has already been taken" });
});

test("options.shorten adds a shortened path only when a link is created", async () => {
  const link = await world.make("/links", { path: "a", options: { shorten: true, other: 1 } });
  expect(link.shortened_path).toMatch(/^\w+$/);
  expect(link.shortened_path).not.toBe("a");
  for (const options of [{}, { shorten: false }, { shorten: null }, null]) {
    expect((await world.make("/links", { options })).shortened_path).toBeNull();
  }
  const plain = await world.make("/links", { path: "b" });
  const body = { options: { shorten: true } };
  const changed = await world.call("PATCH", `/links/${plain.id}`, { body });
  expect(changed.body).toEqual(plain);
});

const tokenRefusals = [
  [{ provider_token: "1" }, "Provider token must be sent together with campaign token"],
  [{ campaign_token: "1" }, "Campaign token must be sent together with provider token"],
  [
    { provider_token: "1", campaign_token: null },
    "Provider token must be sent together with campaign token",
  ],
  [
    { provider_token: "", campaign_token: "1" },
    "Campaign token must be sent together with provider token",
  ],
  [{ provider_token: null }, "Provider token must be sent together with campaign token"],
] as const;

test.each(tokenRefusals)(
  "provider and campaign tokens must be sent together: %j",
  async (fields, message) => {
    const both = { path: "a", provider_token: "1", campaign_token: "2" };
    const link = await world.make("/links", both);
    for (const [method, path] of [
      ["POST", "/links"],
      ["PATCH", `/links/${link.id}`],
      ["PUT", `/links/${link.id}`],
    ] as const) {
      const reply = await world.call(method, path, { body: fields });
      expect([method, reply.status, reply.body]).toEqual([method, 422, { error: message }]);
    }
    const body = { path: "a", ...fields };
    expect((await world.call("POST", "/links/upsert", { body })).status).toBe(422);
    expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(link);
  },
);

const wrongTypes = [
  [{ name: 1.5 }, "Name must be a string"],
  [{ path: ["a"] }, "Path must be a string"],
  [{ enable_forced_redirect: "2" }, "Enable forced redirect must be true or false"],
  [{ ios_app: "com.example" }, "Ios app must be an object"],
  [{ android_app: [] }, "Android app must be an object"],
  [{ options: { shorten: "yes" } }, "Options shorten must be true or false"],
  [{ name: {}, url: [2] }, "Name must be a string and Url must be a string"],
  [
    { name: {}, path: [2], url: 1e300 },
    "Name must be a string, Path must be a string, and Url must be a string",
  ],
] as const;

test.each(wrongTypes)("a type error in a link field returns 422: %j", async (fields, message) => {
  const reply = await world.call("POST", "/links", { body: fields });
  expect([reply.status, reply.body]).toEqual([422, { error: message }]);
});

test("a single error message lists every problem of a link", async () => {
  await world.make("/links", { path: "taken" });
  const body = { path: "taken", url: "javascript:alert(1)", provider_token: "1" };
  const reply = await world.call("POST", "/links", { body });
  expect(reply.status).toBe(422);
  expect(reply.body.error.split(/, and |, | and /).toSorted()).toEqual([
    "Path has already been taken",
    "Provider token must be sent together with campaign token",
    "Url must be an http or https address",
  ]);
});

test("a link's text in any writing system is returned unchanged", async () => {
  const name = `  <b>"O'Neil"</b> 100%_\\ été ÉTÉ ß 漢字 🎉 \u202Eabc \n\t`;
  const link = await world.make("/links", { name, social_title: name, social_description: name });
  expect(link).toMatchObject({ name, social_title: name, social_description: name });
  expect((await world.call("GET", `/links/${link.id}`)).body).toEqual(link);
});

test.each(["name", "social_title", "social_description", "referrer"])(
  "a %s that contains a NUL or an unpaired surrogate returns 422",
  async (field) => {
    for (const text of ["a\0b", "half \ud83c"]) {
      const reply = await world.call("POST", "/links", { body: { [field]: text } });
      expect(reply.status).toBe(422);
      expect(reply.body.error).toMatch(/ contains characters that can't be stored$/);
    }
  },
);

test("a link's name can have at most 500 characters", async () => {
  await world.make("/links", { name: "n".repeat(500) });
  const reply = await world.call("POST", "/links", { body: { name: "n".repeat(501) } });
  expect(reply.status).toBe(422);
  expect(reply.body).toEqual({ error: "Name is too long (maximum is 500 characters)" });
});

test("a link's ID can be sent in upper case", async () => {
  const link = await world.make("/links", { path: "spring" });
  const path = `/links/${link.id.toUpperCase()}`;
  expect((await world.call("GET", path)).body).toEqual(link);
  expect((await world.call("PATCH", path, { body: { name: "New" } })).body.id).toBe(link.id);
  expect((await world.call("DELETE", path)).status).toBe(204);
});
