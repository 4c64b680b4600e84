import { expect, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";

/** Tests that a 422 lists every wrong type and every broken rule of a request. */

const ios = { bundle_id: "com.example.app", team_id: "ABCDE12345" };
const url = "http://default.localhost:8787/a";

function listLinks(world: World) {
  return world.call("GET", "/links").then(({ body }) => body.links);
}

const appRules = "Bundle is invalid and Team is the wrong length (should be 10 characters)";
const mixed: readonly (readonly [string, string, object, string])[] = [
  [
    "PATCH",
    "/links/:id",
    { url: "x", name: ["a"] },
    "Name must be a string and Url must be an http or https address",
  ],
  [
    "POST",
    "/links",
    { path: "a", url: "x", name: {}, enable_forced_redirect: "no" },
    "Name must be a string, Enable forced redirect must be true or false, " +
      "Url must be an http or https address, and Path has already been taken",
  ],
  [
    "POST",
    "/links",
    { provider_token: "1", campaign_token: [2], url: "x" },
    "Campaign token must be a string and Url must be an http or https address",
  ],
  [
    "POST",
    "/links",
    { path: "b", android_app: { package_name: "a", fingerprints: [{}] } },
    "Android app fingerprints must be a string and Package name is invalid",
  ],
  [
    "POST",
    "/links/upsert",
    { path: ["a"], url: "x" },
    "Path must be a string and Url must be an http or https address",
  ],
  [
    "POST",
    "/ios_apps",
    { ios_app: { bundle_id: "a b", team_id: "short", name: [] } },
    `Name must be a string, ${appRules.replace(" and ", ", and ")}`,
  ],
  [
    "POST",
    "/ios_apps",
    { ios_app: { ...ios, team_id: [], custom_scheme: "tel" } },
    "Team must be a string and Custom scheme is invalid",
  ],
  [
    "POST",
    "/short_links",
    { url: "spring", prefix: [5] },
    "Prefix must be a string and Url must be an http or https address",
  ],
];

test.each(mixed)(
  "%s %s reports type errors and rule violations in a single 422",
  async (...row) => {
    const [method, path, body, sentence] = row;
    await using world = await createWorld();
    const link = await world.make("/links", { path: "a" });
    const reply = await world.call(method, path.replace(":id", link.id), { body });
    const key = path === "/short_links" ? "errors" : "error";
    expect([reply.status, reply.body]).toEqual([422, { [key]: sentence }]);
    expect(await listLinks(world)).toEqual([link]);
  },
);

test("the 422 for a page template lists type errors and the position of each mistake", async () => {
  await using world = await createWorld();
  const body = { body: "{% store_buttons %}<script></script>", css: [] };
  const reply = await world.call("PATCH", "/page_template", { body });
  expect(reply.status).toBe(422);
  expect(reply.body.error).toMatch(/^Css must be a string and Body line 1, column 20: /);
  expect(reply.body.problems).toMatchObject([{ field: "css" }, { field: "body", line: 1 }]);
});

test("a request with a type error in one field saves none of its fields", async () => {
  await using world = await createWorld();
  const link = await world.make("/links", { path: "a" });
  const before = world.store.countWrites();
  for (const [method, path, body] of [
    ["POST", "/links", { path: "b", name: [] }],
    ["PATCH", `/links/${link.id}`, { path: "b", name: [] }],
    ["POST", "/links/upsert", { path: "a", url: "https://a.example", name: [] }],
    ["POST", "/ios_apps", { ios_app: { ...ios, name: [] } }],
    ["POST", "/short_links", { url, prefix: [] }],
    ["PATCH", "/page_template", { body: "{% store_buttons %}", css: [] }],
  ] as const) {
    expect((await world.call(method, path, { body })).status).toBe(422);
  }
  const { master: key } = world;
  const project = { name: "B", subdomain: "b", custom_domain: [] };
  const refused = await world.call("POST", "/projects", { key, body: { project } });
  expect([refused.status, refused.body.error]).toEqual([422, "Custom domain must be a string"]);
  expect((await world.call("GET", "/projects", { key })).body.meta.count).toBe(1);
  expect(await listLinks(world)).toEqual([link]);
  expect((await world.call("GET", "/ios_apps")).body.meta.count).toBe(0);
  expect(world.store.countWrites()).toBe(before);
  // Only the first save of a template returns 201, so nothing was saved before.
  expect((await world.call("PATCH", "/page_template", { body: {} })).status).toBe(201);
});
