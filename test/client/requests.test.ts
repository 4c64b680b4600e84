import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import type { Endpoint, Input } from "../../src/contract/endpoint.ts";
import { apiPrefix, contract, listEndpoints } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { Problem } from "../../src/contract/problem.ts";
import { quoteAnswer, readAnswer } from "../../src/contract/server-answer.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTraveller } from "./traveller.ts";

/** Tests the requests that the client sends to each endpoint of the real service. */

type Sent = {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly body: unknown;
  readonly authorization: string | null;
};

const { links, linkStats, shortLinks, iosApps, androidApps, projects, pageTemplate } = contract;

let world: World;
let client: Client;
let master: Client;
const sent: Sent[] = [];
const called = new Set<string>();

beforeAll(async () => {
  world = await createWorld();
  client = createTraveller({ world, fetch: record }).client;
  master = createTraveller({ world, fetch: record, key: world.master }).client;
});
afterAll(() => world[Symbol.asyncDispose]());

async function record(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const text = await request.clone().text();
  sent.push({
    method: request.method,
    path: pathname.slice(apiPrefix.length),
    query: [...searchParams],
    body: text === "" ? undefined : JSON.parse(text),
    authorization: request.headers.get("authorization"),
  });
  return world.fetch(request);
}

/** Calls an endpoint, and returns the request together with the output. */
async function call<E extends Endpoint>(endpoint: E, input: Input<E>, by = client) {
  called.add(endpoint.tool);
  const output = await by.call(endpoint, input);
  const last = sent.at(-1);
  if (last === undefined) throw new Error("nothing was sent");
  return { output, ...last };
}

describe("the client's requests for links", () => {
  test("create, read, change, delete and restore a link", async () => {
    const created = await call(links.create, {
      path: "spring",
      name: "Spring",
      options: { shorten: true },
    });
    expect(created).toMatchObject({
      method: "POST",
      path: "/links",
      query: [],
      body: { path: "spring", name: "Spring", options: { shorten: true } },
      authorization: `Token ${world.key}`,
    });
    expectTypeOf(created.output.shortened_path).toEqualTypeOf<string | null | undefined>();
    const { id = "" } = created.output;

    const shown = await call(links.show, { id });
    expect(shown).toMatchObject({ method: "GET", path: `/links/${id}`, body: undefined });
    expect(shown.output).toEqual(created.output);

    const updated = await call(links.update, { id, name: null, url: "https://example.com/" });
    expect(updated).toMatchObject({ method: "PATCH", path: `/links/${id}` });
    expect(updated.body).toEqual({ name: null, url: "https://example.com/" });
    expect(updated.output).toMatchObject({ id, name: null, url: "https://example.com/" });

    const upserted = await call(links.upsert, { path: "spring", name: "Again" });
    expect(upserted).toMatchObject({ method: "POST", path: "/links/upsert" });
    expect(upserted.output).toMatchObject({ id, name: "Again" });

    const deleted = await call(links.destroy, { id });
    expect(deleted).toMatchObject({ method: "DELETE", path: `/links/${id}`, body: undefined });
    expect(deleted.output).toBeNull();
    expectTypeOf(deleted.output).toEqualTypeOf<null>();

    const restored = await call(links.restore, { id });
    expect(restored).toMatchObject({ method: "POST", path: `/links/${id}/restore` });
    expect(restored.output).toEqual(upserted.output);
  });

  test("list links with a page, filters with lists, and a sort order", async () => {
    for (const path of ["a b", "c&d", "e"]) await client.call(links.create, { path });
    const listed = await call(links.index, {
      page: 1,
      limit: 2,
      sort: { field: "path", direction: "desc" },
      filters: [
        { field: "path", condition: "in", value: ["a b", "c&d"] },
        { field: "clicks", condition: "lteq", value: 0 },
        { field: "name", condition: "null", value: true },
      ],
    });
    expect(listed).toMatchObject({ method: "GET", path: "/links", body: undefined });
    expect(listed.query).toEqual([
      ["page", "1"],
      ["limit", "2"],
      ["q[s]", "path desc"],
      ["q[path_in][]", "a b"],
      ["q[path_in][]", "c&d"],
      ["q[clicks_lteq]", "0"],
      ["q[name_null]", "true"],
    ]);
    expect(listed.output.links.map((link) => link.path)).toEqual(["c&d", "a b"]);
    expect(listed.output.meta).toMatchObject({ count: 2, limit: 2 });
  });

  test("list all links without a query", async () => {
    expect((await call(links.index, {})).query).toEqual([]);
  });

  test("shorten an address with the key and resolve it without one", async () => {
    const shortened = await call(shortLinks.create, { url: "https://example.com/x", prefix: "s-" });
    expect(shortened).toMatchObject({ method: "POST", path: "/short_links" });
    expect(shortened.body).toEqual({ url: "https://example.com/x", prefix: "s-" });

    const url = `http://default.localhost:8787/${shortened.output.shortened_path}`;
    const resolved = await call(shortLinks.resolve, { url });
    expect(resolved).toMatchObject({ method: "POST", path: "/short_links/resolve", body: { url } });
    expect(resolved.authorization).toBeNull();
    expect(resolved.output.id).toBe(shortened.output.id);
  });
});

describe("the client's requests for apps", () => {
  test("send an iOS app's fields in a wrapper and its ID in the path", async () => {
    const fields = { bundle_id: "com.example.ios", team_id: "TEAM000001" };
    const created = await call(iosApps.create, fields);
    expect(created).toMatchObject({ method: "POST", path: "/ios_apps" });
    expect(created.body).toEqual({ ios_app: fields });
    const { id = "" } = created.output;
    expect((await call(iosApps.show, { id })).output).toEqual(created.output);
    const updated = await call(iosApps.update, { id, name: "iOS" });
    expect(updated).toMatchObject({ method: "PATCH", path: `/ios_apps/${id}` });
    expect(updated.body).toEqual({ ios_app: { name: "iOS" } });
    const filters = [{ field: "bundle_id", condition: "eq", value: "com.example.ios" }] as const;
    const listed = await call(iosApps.index, { filters });
    expect(listed.output.ios_apps).toEqual([updated.output]);
    expect((await call(iosApps.destroy, { id })).output).toBeNull();
    const restored = await call(iosApps.restore, { id });
    expect(restored).toMatchObject({ method: "POST", path: `/ios_apps/${id}/restore` });
    expect(restored.output).toEqual(updated.output);
  });

  test("send an Android app's fields in a wrapper and its ID in the path", async () => {
    const fields = { package_name: "com.example.droid", fingerprints: ["AA:BB", "CC:DD"] };
    const created = await call(androidApps.create, fields);
    expect(created.body).toEqual({ android_app: fields });
    const { id = "" } = created.output;
    expect((await call(androidApps.show, { id })).output).toEqual(created.output);
    const updated = await call(androidApps.update, { id, fingerprints: ["EE:FF"] });
    expect(updated.body).toEqual({ android_app: { fingerprints: ["EE:FF"] } });
    expect(updated.output.fingerprints).toEqual(["EE:FF"]);
    const listed = await call(androidApps.index, { limit: 1 });
    expect(listed.output.android_apps).toEqual([updated.output]);
    expect((await call(androidApps.destroy, { id })).output).toBeNull();
    expect((await call(androidApps.restore, { id })).output).toEqual(updated.output);
  });
});

test("the client's requests for projects use the master key", async () => {
  const fields = { name: "Second", subdomain: "second" };
  const created = await call(projects.create, fields, master);
  expect(created).toMatchObject({ method: "POST", path: "/projects", body: { project: fields } });
  expect(created.authorization).toBe(`Token ${world.master}`);
  const { id = "" } = created.output;
  expect((await call(projects.show, { id }, master)).output).toEqual(created.output);
  const updated = await call(projects.update, { id, name: "2nd" }, master);
  expect(updated.body).toEqual({ project: { name: "2nd" } });
  const listed = await call(projects.index, { page: 2, limit: 1 }, master);
  expect(listed.query).toEqual([
    ["page", "2"],
    ["limit", "1"],
  ]);
  expect(listed.output.meta.count).toBe(2);
  expect((await call(projects.destroy, { id }, master)).output).toBeNull();
});

test("the client's requests for the page template have an ID only for versions", async () => {
  const draft = { body: "<h1>{{ link.name }}</h1>\n{% store_buttons %}\n", css: "" };
  const saved = await call(pageTemplate.save, draft);
  expect(saved).toMatchObject({ method: "PATCH", path: "/page_template", body: draft });
  const published = await call(pageTemplate.publish, {});
  expect(published).toMatchObject({ method: "POST", path: "/page_template/publish" });
  expect(published.output.live_version).toMatchObject(draft);

  const listed = await call(pageTemplate.versions, {});
  expect(listed).toMatchObject({ method: "GET", path: "/page_template/versions" });
  const id = listed.output.versions[0]?.id ?? "";
  const version = await call(pageTemplate.version, { id });
  expect(version).toMatchObject({ method: "GET", path: `/page_template/versions/${id}` });
  expect(version.output).toEqual(published.output.live_version);
  const restored = await call(pageTemplate.restore, { id });
  expect(restored.path).toBe(`/page_template/versions/${id}/restore`);

  const preview = await call(pageTemplate.preview, { css: "h1 { color: red }" });
  expect(preview).toMatchObject({ method: "POST", path: "/page_template/preview" });
  expect(preview.output).toMatch(/^<!doctype html>/i);
  const unpublished = await call(pageTemplate.unpublish, {});
  expect(unpublished).toMatchObject({ method: "POST", path: "/page_template/unpublish" });
  expect(unpublished.output.live_version).toBeNull();
});

test("the client's requests for link_stats send everything in the query", async () => {
  const asked = await call(linkStats.show, { from: "2026-01-01", to: "2026-01-31", by: "week" });
  expect(asked).toMatchObject({ method: "GET", path: "/link_stats", body: undefined });
  expect(asked.query).toEqual([
    ["from", "2026-01-01"],
    ["to", "2026-01-31"],
    ["by", "week"],
  ]);
  expect(asked.output.stats).toMatchObject({ by: "week", total: { clicks: 0 } });
});

test("the tests above call every endpoint of the contract", () => {
  expect([...called].toSorted()).toEqual(
    listEndpoints()
      .map(({ tool }) => tool)
      .toSorted(),
  );
});

describe("an error response", () => {
  const unknownId = "0190a000-0000-7000-8000-000000000000";

  test.each([
    ["a 404", () => client.call(links.show, { id: unknownId }), 404, messages.link_not_found],
    ["a 401", () => client.call(projects.index, {}), 401, messages.master_required],
    [
      "a 422",
      () => client.call(iosApps.create, { bundle_id: "com.example", team_id: "short" }),
      422,
      "Team is the wrong length (should be 10 characters)",
    ],
    [
      "a 422 with the error in another member",
      () => client.call(shortLinks.create, { url: "ftp://example.com" }),
      422,
      expect.stringContaining("Url"),
    ],
    ["a 400", () => client.call(links.index, { page: 0 }), 400, messages.not_positive("page")],
  ])("with %s throws the API's message after one request", async (_, act, status, message) => {
    const before = sent.length;
    const error = await act().catch((thrown: unknown) => thrown);
    if (!(error instanceof Problem)) throw error;
    expect([error.status, readAnswer(error.message)]).toEqual([status, message]);
    expect(sent.length - before).toBe(1);
  });

  test("because of a missing key throws the API's message", async () => {
    const keyless = createTraveller({ world, fetch: record, key: undefined }).client;
    await expect(keyless.call(links.index, {})).rejects.toMatchObject({
      status: 401,
      message: quoteAnswer("localhost:8787", messages.key_missing),
    });
    expect(sent.at(-1)?.authorization).toBeNull();
  });

  test.each(["two words", "a line\nmore", "\u00fcml\u00e4ut", ""])(
    "is never needed for the invalid key %j, which is neither sent nor shown",
    async (key) => {
      const before = sent.length;
      const odd = createTraveller({ world, fetch: record, key }).client;
      const error = await odd.call(links.index, {}).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ status: 401, message: messages.key_malformed });
      expect(sent.length).toBe(before);
    },
  );
});

describe("a client call with", () => {
  test.each([".", "..", ""])("the ID %j returns 404 without a request", async (id) => {
    const before = sent.length;
    for (const endpoint of [links.show, links.destroy, iosApps.destroy]) {
      await expect(client.call(endpoint, { id })).rejects.toMatchObject({ status: 404 });
    }
    expect(sent.length).toBe(before);
  });

  test.each(["a/b", "../projects", "?page=1", "#x", "%2e%2e", "\ud800", "x y"])(
    "the id %j sends the id as one segment of the path",
    async (id) => {
      await expect(client.call(links.destroy, { id })).rejects.toMatchObject({
        status: 404,
        message: quoteAnswer("localhost:8787", messages.link_not_found),
      });
      expect(sent.at(-1)?.path).toMatch(/^\/links\/[^/?#]+$/);
    },
  );
});

test("the client does not send fields that an endpoint does not have", async () => {
  const input = { path: "extra", project_id: "other", id: undefined };
  expect((await call(links.create, input)).body).toEqual({ path: "extra" });
});
