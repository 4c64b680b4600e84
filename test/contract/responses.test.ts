import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { listEndpoints } from "../../src/contract/index.ts";
import { createWorld, type Reply, type World } from "../support/world.ts";

/** The response schemas, compared with real responses of each endpoint. */

/** A call of every endpoint, in an order in which each finds what it needs. */
const calls: readonly (readonly [endpoint: string, path: string, body?: object])[] = [
  ["POST /ios_apps", "", { ios_app: { bundle_id: "com.shop", team_id: "TEAM000001" } }],
  ["GET /ios_apps", ""],
  ["GET /ios_apps/:id", "ios_app"],
  ["PATCH /ios_apps/:id", "ios_app", { ios_app: { name: "Shop" } }],
  ["PUT /ios_apps/:id", "ios_app", { ios_app: { custom_scheme: "shop://" } }],
  [
    "POST /android_apps",
    "",
    { android_app: { package_name: "com.shop.app", fingerprints: ["AA:BB"] } },
  ],
  ["GET /android_apps", ""],
  ["GET /android_apps/:id", "android_app"],
  ["PATCH /android_apps/:id", "android_app", { android_app: { name: "Shop" } }],
  ["PUT /android_apps/:id", "android_app", { android_app: { fingerprints: ["CC:DD"] } }],
  ["POST /links", "", { path: "spring", url: "https://example.com", options: { shorten: true } }],
  ["GET /links", ""],
  ["GET /link_stats", ""],
  ["GET /links/:id", "link"],
  ["PATCH /links/:id", "link", { name: "Spring", ios_app: { bundle_id: "com.shop" } }],
  ["PUT /links/:id", "link", { social_title: "Spring" }],
  ["POST /links/upsert", "", { path: "spring", name: "Again" }],
  ["POST /links/upsert", "", { path: "summer" }],
  ["POST /short_links", "", { url: "https://example.com/long", prefix: "go-" }],
  ["POST /short_links/resolve", "", { url: "http://default.localhost:8787/spring" }],
  ["DELETE /links/:id", "link"],
  ["DELETE /ios_apps/:id", "ios_app"],
  ["DELETE /android_apps/:id", "android_app"],
  ["POST /links/:id/restore", "link"],
  ["POST /ios_apps/:id/restore", "ios_app"],
  ["POST /android_apps/:id/restore", "android_app"],
  ["POST /projects", "", { project: { name: "Other", subdomain: "other" } }],
  ["GET /projects", ""],
  ["GET /projects/:id", "project"],
  ["PATCH /projects/:id", "project", { project: { custom_domain: "go.example.com" } }],
  ["DELETE /projects/:id", "project"],
  ["PATCH /page_template", "", { body: "{% store_buttons %}" }],
  ["PATCH /page_template", "", { css: "h1{top:0}" }],
  ["POST /page_template/publish", ""],
  ["GET /page_template/versions", ""],
  ["GET /page_template/versions/:id", "version"],
  ["POST /page_template/versions/:id/restore", "version"],
  ["POST /page_template/preview", ""],
  ["POST /page_template/unpublish", ""],
];

const entries = listEndpoints();

describe("response schemas", () => {
  test("accept every response of the service, and keep unknown fields", async () => {
    await using world = await createWorld();
    const ids: Record<string, string> = {};
    const asked = new Set<string>();
    for (const [endpoint, about, body] of calls) {
      const entry = findEntry(endpoint);
      const reply = await follow(world, endpoint, ids[about], body);
      const { status, also = status } = entry.success;
      expect([endpoint, [status, also].includes(reply.status as 200), reply.text]).toEqual([
        endpoint,
        true,
        expect.any(String),
      ]);
      asked.add(`${entry.method} ${entry.path} ${reply.status}`);
      if (entry.response === null) {
        expect(reply.text).toBe("");
        continue;
      }
      expect(entry.response.parse(reply.body)).toEqual(reply.body);
      const extended = extend(reply.body);
      expect(entry.response.parse(extended)).toEqual(extended);
      if (entry.type === undefined) {
        expect(Object.keys(reply.body).toSorted()).toEqual(listMembers(entry, reply.body));
      }
      const [, resource = ""] = /^POST \/(\w+)s$/.exec(endpoint) ?? [];
      if (resource !== "") ids[resource] = reply.body.id;
      if (endpoint === "POST /page_template/publish") ids["version"] = reply.body.live_version.id;
    }
    const all = entries.flatMap(({ method, path, success }) =>
      [success.status, ...(success.also ? [success.also] : [])].map(
        (code) => `${method} ${path} ${code}`,
      ),
    );
    expect([...asked].toSorted()).toEqual(all.toSorted());
    expect(world.reported).toEqual([]);
  });

  test.each(
    entries
      .filter((entry) => entry.response !== null)
      .map((entry) => [`${entry.method} ${entry.path}`, entry] as const),
  )("of %s refuse a response of another kind", (_, entry) => {
    for (const nonsense of [null, "", [], {}, { error: "Link not found" }]) {
      expect(entry.response?.safeParse(nonsense).success).toBe(false);
    }
  });
});

function findEntry(endpoint: string): Endpoint {
  const [method, path] = endpoint.replace("PUT", "PATCH").split(" ");
  const entry = entries.find((one) => one.method === method && one.path === path);
  if (entry === undefined) throw new Error(`no entry for ${endpoint}`);
  return entry;
}

function follow(world: World, endpoint: string, id = "", body?: object): Promise<Reply> {
  const [method = "", path = ""] = endpoint.split(" ");
  const keys = { none: null, client: null, master: world.master, project: world.key };
  const key = keys[findEntry(endpoint).auth];
  return world.call(method, path.replace(":id", id), { key, ...(body && { body }) });
}

/** The required fields; optional ones only if the response has them. */
function listMembers({ response }: Endpoint, answered: object): string[] {
  if (!(response instanceof z.ZodObject)) return [];
  const members = Object.entries(response.shape);
  const expected = members.filter(
    ([name, member]) => !(member instanceof z.ZodOptional) || name in answered,
  );
  return expected.map(([name]) => name).toSorted();
}

/** The same response from a later version, with an additional field in every object. */
function extend(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(extend);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, extend(member)]);
  return { ...Object.fromEntries(members), brand_new: { of: ["tomorrow"] } };
}
