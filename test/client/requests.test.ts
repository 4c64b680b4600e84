import { describe, expect, test } from "vitest";
import type { Client } from "../../src/client/client.ts";
import type { Endpoint, Input } from "../../src/contract/endpoint.ts";
import { apiPrefix, contract } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { Problem } from "../../src/contract/problem.ts";
import { quoteAnswer, readAnswer } from "../../src/contract/server-answer.ts";
import { openForAll } from "../support/open-for.ts";
import { createWorld, type World } from "../support/world.ts";
import { createTimedClient } from "./clients.ts";

/** Tests how the client writes requests. carriers.test.ts calls every endpoint. */

type SentRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly body: unknown;
  readonly authorization: string | null;
};

const { links, shortLinks, iosApps, projects } = contract;

let world: World;
let client: Client;
const sent: SentRequest[] = [];

openForAll(createWorld, (opened) => {
  world = opened;
  ({ client } = createTimedClient({ world, fetch: record }));
});

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

async function call<E extends Endpoint>(endpoint: E, input: Input<E>) {
  const output = await client.call(endpoint, input);
  const last = sent.at(-1);
  if (last === undefined) throw new Error("nothing was sent");
  return { output, ...last };
}

describe("the client's requests for links", () => {
  test("can contain a page, a sort order, and filters with lists of values", async () => {
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

  test("contain the API key if they shorten a URL but not if they resolve one", async () => {
    const shortened = await call(shortLinks.create, { url: "https://example.com/x", prefix: "s-" });
    expect(shortened).toMatchObject({ method: "POST", path: "/short_links" });
    expect(shortened.body).toEqual({ url: "https://example.com/x", prefix: "s-" });
    expect(shortened.authorization).toBe(`Token ${world.key}`);

    const url = `http://default.localhost:8787/${shortened.output.shortened_path}`;
    const resolved = await call(shortLinks.resolve, { url });
    expect(resolved).toMatchObject({ method: "POST", path: "/short_links/resolve", body: { url } });
    expect(resolved.authorization).toBeNull();
    expect(resolved.output.id).toBe(shortened.output.id);
  });
});

describe("a rejected client call", () => {
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
      "a 422 with its message under errors",
      () => client.call(shortLinks.create, { url: "ftp://example.com" }),
      422,
      expect.stringContaining("Url"),
    ],
    ["a 400", () => client.call(links.index, { page: 0 }), 400, messages.not_positive("page")],
  ])(
    "throws the API's message after one request if the response is %s",
    async (_, act, status, message) => {
      const before = sent.length;
      const error = await act().catch((thrown: unknown) => thrown);
      if (!(error instanceof Problem)) throw error;
      expect([error.status, readAnswer(error.message)]).toEqual([status, message]);
      expect(sent.length - before).toBe(1);
    },
  );

  test("throws the API's message if no key is set", async () => {
    const keyless = createTimedClient({ world, fetch: record, key: undefined }).client;
    await expect(keyless.call(links.index, {})).rejects.toMatchObject({
      status: 401,
      message: quoteAnswer("localhost:8787", messages.key_missing),
    });
    expect(sent.at(-1)?.authorization).toBeNull();
  });

  test.each(["two words", "a line\nmore", "\u00fcml\u00e4ut", ""])(
    "throws an error and sends no request if the key is malformed: %j",
    async (key) => {
      const before = sent.length;
      const odd = createTimedClient({ world, fetch: record, key }).client;
      const error = await odd.call(links.index, {}).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ status: 401, message: messages.key_malformed });
      expect(sent.length).toBe(before);
    },
  );
});

describe("a client call", () => {
  test.each([".", "..", ""])("fails with 404 for the ID %j and sends no request", async (id) => {
    const before = sent.length;
    for (const endpoint of [links.show, links.destroy, iosApps.destroy]) {
      await expect(client.call(endpoint, { id })).rejects.toMatchObject({ status: 404 });
    }
    expect(sent.length).toBe(before);
  });

  test.each(["a/b", "../projects", "?page=1", "#x", "%2e%2e", "\ud800", "x y"])(
    "sends the ID %j as one segment of the path",
    async (id) => {
      await expect(client.call(links.destroy, { id })).rejects.toMatchObject({
        status: 404,
        message: quoteAnswer("localhost:8787", messages.link_not_found),
      });
      expect(sent.at(-1)?.path).toMatch(/^\/links\/[^/?#]+$/);
    },
  );
});

test("the client does not send fields that are unknown to the endpoint", async () => {
  const input = { path: "extra", project_id: "other", id: undefined };
  expect((await call(links.create, input)).body).toEqual({ path: "extra" });
});
