import { describe, expect, test } from "vitest";
import { pickLasting } from "../../src/contract/condition.ts";
import { messages } from "../../src/contract/messages.ts";
import { digestOf } from "../../src/text/digest.ts";
import { createWorld, type World } from "../support/world.ts";

/** Tests that every rule for links applies to all forms of a request. */

type Fields = Readonly<Record<string, unknown>>;
type Form = (name: string, fields: Fields) => Fields;
type Way = readonly [method: string, path: string, rest: Fields];

const newApps = [
  ["ios_app", { bundle_id: "com.fly", team_id: 1234567890 }, "ios_apps.create"],
  ["android_app", { package_name: "com.fly", fingerprints: ["AA:BB"] }, "android_apps.create"],
] as const;

const forms: readonly (readonly [string, Form])[] = [
  ["plain", (_, fields) => fields],
  ["in its wrapper", (name, fields) => ({ [name]: fields })],
  [
    "in its wrapper, with other fields outside",
    (name, fields) => ({ id: "x", [name]: fields, a: 1 }),
  ],
  ["among fields of the response", (_, fields) => ({ id: "x", clicks: 1, ...fields })],
];

/** Lists every way to write a link, with different spellings of its path. */
function listWays(id: string): readonly Way[] {
  return [
    ["POST", "/links", {}],
    ["POST", "/links/", {}],
    ["POST", "/links.json", {}],
    ["POST", "/links/upsert", { path: "new" }],
    ["POST", "/links/upsert.json", { path: "kept" }],
    ["PATCH", `/links/${id}`, {}],
    ["PUT", `/links/${id}.json/`, {}],
  ];
}

type WriteAttempt = {
  readonly world: World;
  readonly form: Form;
  readonly key: string;
  /** Creates the link that the writes try to change; `key` where left out. */
  readonly creator?: string;
};

/** Writes a link in all ways, and returns each distinct status with its message. */
async function writeAll({ world, form, key, creator = key }: WriteAttempt, fields: Fields) {
  const given = { body: { path: "kept" }, key: creator };
  const kept = (await world.call("POST", "/links", given)).body;
  const told = new Set<string>();
  for (const [method, path, rest] of listWays(kept.id)) {
    const body = form("link", { ...rest, ...fields });
    const reply = await world.call(method, path, { key, body });
    told.add(`${reply.status} ${reply.body.error ?? ""}`);
  }
  expect((await world.call("GET", "/links", { key })).body.links).toEqual([kept]);
  return [...told];
}

describe.each(forms)("a link sent %s", (_, form) => {
  test.each(newApps)("registers no %s without the scope and role for it", async (...row) => {
    const [field, app, scope] = row;
    await using world = await createWorld();
    const own = await world.addProject();
    const scopes = ["links.create", "links.update", "links.index"] as const;
    const scoped = await world.addKey({ project: own, scopes });
    const refusal = `401 ${messages.scope_missing(scope)}`;
    expect(await writeAll({ world, form, key: scoped }, { [field]: app })).toEqual([refusal]);
    const viewer = await world.addKey({ role: "viewer" });
    const roleRefusal = `401 ${messages.role_required("manager")}`;
    const asViewer = { world, form, key: viewer, creator: world.key };
    expect(await writeAll(asViewer, { [field]: app })).toEqual([roleRefusal]);
    for (const path of ["/ios_apps", "/android_apps"]) {
      expect((await world.call("GET", path)).body.meta.count).toBe(0);
    }
  });

  test.each([
    [{ referrer: 5 }, "referrer"],
    [{ referrer: true }, "referrer"],
    [{ ios_deferred_deep_linking_enabled: "true" }, "ios_deferred_deep_linking_enabled"],
    [{ ios_deferred_deep_linking_enabled: 1 }, "ios_deferred_deep_linking_enabled"],
    [{ provider_token: 1, campaign_token: 0 }, "provider_token, campaign_token"],
  ])("cannot set a Pro field on the free plan: %j", async (fields, names) => {
    await using world = await createWorld();
    const key = await world.addKey({ project: await world.addProject({ plan: "free" }) });
    const refusal = `401 ${messages.pro_fields(names)}`;
    expect(await writeAll({ world, form, key }, fields)).toEqual([refusal]);
  });

  test("cannot be shortened on the free plan, whatever the spelling of true", async () => {
    await using world = await createWorld();
    const key = await world.addKey({ project: await world.addProject({ plan: "free" }) });
    for (const shorten of [true, "true", "TRUE", "1", 1]) {
      const body = form("link", { options: { shorten } });
      const reply = await world.call("POST", "/links", { key, body });
      const error = messages.pro_fields("options.shorten");
      expect([shorten, reply.status, reply.body]).toEqual([shorten, 401, { error }]);
    }
  });

  test("cannot exceed the free plan's limit of links", async () => {
    await using world = await createWorld();
    const project = await world.addProject({ plan: "free", max_links: 1 });
    const key = await world.addKey({ project });
    await world.call("POST", "/links", { key, body: {} });
    for (const [path, rest] of [
      ["/links", {}],
      ["/links.json", {}],
      ["/links/upsert/", { path: "new" }],
    ] as const) {
      const body = form("link", { name: "A", ...rest });
      const reply = await world.call("POST", path, { key, body });
      expect([reply.status, reply.body]).toEqual([401, { error: messages.link_limit(1) }]);
    }
  });

  test("cannot point to a host that the project does not allow", async () => {
    await using world = await createWorld();
    const key = await world.addKey({
      project: await world.addProject({ destinations: "shop.example" }),
    });
    const fields = { url: "https://evil.example/" };
    expect(await writeAll({ world, form, key }, fields)).toEqual([
      expect.stringMatching(/^422 Url must point to one of the allowed hosts/),
    ]);
    const body = form("short_link", fields);
    const reply = await world.call("POST", "/short_links", { key, body });
    expect(reply.status).toBe(422);
  });

  test("cannot use the app of another project", async () => {
    await using world = await createWorld();
    const app = { ios_app: { bundle_id: "com.a", team_id: "ABCDE12345" } };
    const { id } = (await world.call("POST", "/ios_apps", { body: app })).body;
    const key = await world.addKey({ project: await world.addProject() });
    const refusal = `422 ${messages.ios_app_not_found}`;
    for (const fields of [{ ios_app_id: id }, { ios_app: { id } }]) {
      expect(await writeAll({ world, form, key }, fields)).toEqual([refusal]);
      await world.call("DELETE", `/links/${await readOnly(world, key)}`, { key });
    }
  });

  test("does not overwrite a link that changed or needs another scope", async () => {
    await using world = await createWorld();
    const link = (await world.call("POST", "/links", { body: { path: "a" } })).body;
    const [body, fields] = [{ name: "B" }, { path: "a", ios_app_id: "" }];
    const shown = { "if-match": `"${digestOf(pickLasting(link))}"` };
    await world.call("PATCH", `/links/${link.id}`, { body });
    for (const [method, path, headers] of [
      ["PUT", `/links/${link.id}`, shown],
      ["PATCH", `/links/${link.id}.json`, shown],
      ["POST", "/links/upsert", shown],
      ["POST", "/links/upsert/", { "if-none-match": "*" }],
    ] as const) {
      const reply = await world.call(method, path, { headers, body: form("link", fields) });
      expect([path, reply.status]).toEqual([path, 412]);
    }
    const creator = await world.addKey({ scopes: ["links.create"] });
    const upsert = { key: creator, body: form("link", fields) };
    const refused = await world.call("POST", "/links/upsert", upsert);
    expect(refused.body.error).toBe(messages.scope_missing("links.update"));
  });

  test("counts toward a single rate limit for all link writes", async () => {
    await using world = await createWorld();
    const ways = listWays("0190a000-0000-7000-8000-000000000000");
    for (let call = 0; call < 600; call += 1) {
      const [method, path] = ways[call % ways.length] ?? ["POST", "/links"];
      const reply = await world.call(method, path, { body: [] });
      expect(reply.status).toBe(400);
    }
    for (const [method, path, rest] of ways) {
      for (const key of [`Bearer ${world.key}`, `Token token="${world.key}"`]) {
        const given = { key: null, headers: { authorization: key }, body: form("link", rest) };
        expect((await world.call(method, path, given)).status).toBe(429);
      }
    }
  });

  test("is not shown in a preview to a key without links.show", async () => {
    await using world = await createWorld();
    const key = await world.addKey({ scopes: ["page_templates.show"] });
    const link = (await world.call("POST", "/links", { body: {} })).body;
    const body = form("page_template", { link_id: link.id });
    const reply = await world.call("POST", "/page_template/preview/", { key, body });
    const error = messages.scope_missing("links.show");
    expect([reply.status, reply.body]).toEqual([401, { error }]);
  });
});

async function readOnly(world: World, key: string): Promise<string> {
  const { links } = (await world.call("GET", "/links", { key })).body;
  return links[0].id;
}
