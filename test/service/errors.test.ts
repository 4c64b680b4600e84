import * as fc from "fast-check";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { apiPrefix } from "../../src/contract/index.ts";
import { messages } from "../../src/contract/messages.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import { isOnPostgres } from "../support/store-place.ts";
import { createWorld, origin, type CallInput, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests the body and headers of each error status, and the order of the checks. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

const unknownId = "0190a000-0000-7000-8000-000000000000";
const mebibyte = 1024 * 1024;

type Target = { readonly method: string; readonly path: string };
type Bytes = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

function listWrites(world: World) {
  return [
    ["POST", "/links", world.key],
    ["POST", "/links/upsert", world.key],
    ["PATCH", `/links/${unknownId}`, world.key],
    ["PUT", `/links/${unknownId}`, world.key],
    ["POST", "/short_links", world.key],
    ["POST", "/short_links/resolve", null],
    ["POST", "/ios_apps", world.key],
    ["PATCH", `/ios_apps/${unknownId}`, world.key],
    ["PUT", `/ios_apps/${unknownId}`, world.key],
    ["POST", "/android_apps", world.key],
    ["PATCH", `/android_apps/${unknownId}`, world.key],
    ["PUT", `/android_apps/${unknownId}`, world.key],
    ["POST", "/projects", world.master],
    ["PATCH", `/projects/${unknownId}`, world.master],
  ] as const;
}

function post(world: World, body: Bytes, headers: Record<string, string> = {}, path = "/links") {
  const authorization = `Token ${world.key}`;
  const given = { authorization, "content-type": "application/json", ...headers };
  // A stream can be sent only in half duplex.
  const init: RequestInit = { method: "POST", headers: given, body, duplex: "half" };
  return new Request(`${origin}/api/v1${path}`, init);
}

function stream(chunks: number, onPull: () => void = () => undefined): ReadableStream<Uint8Array> {
  let left = chunks;
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    onPull();
    if (left === 0) return controller.close();
    left -= 1;
    controller.enqueue(new Uint8Array(65_536).fill(0x20));
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

const wrongTypes = [
  "text/plain",
  "application/jsonp",
  "application/vnd.api+json",
  "text/json; application/json",
];

test.each(wrongTypes)(
  "every endpoint that takes a body returns 400 for the content type %s",
  async (type) => {
    for (const [method, path, key] of listWrites(world)) {
      const given = { key, body: {}, headers: { "content-type": type } };
      const reply = await world.call(method, path, given);
      expect([path, reply.status, reply.body]).toEqual([
        path,
        400,
        { error: messages.content_type },
      ]);
    }
  },
);

test("a request without a body returns 400 if its endpoint takes a body", async () => {
  for (const [method, path, key] of listWrites(world)) {
    const reply = await world.call(method, path, { key });
    expect([path, reply.status, reply.body]).toEqual([path, 400, { error: messages.content_type }]);
  }
});

test.each(["application/json; charset=utf-8", "Application/JSON", "application/json;x=y"])(
  "the content type %s is accepted as JSON",
  async (type) => {
    const given = { body: {}, headers: { "content-type": type } };
    expect((await world.call("POST", "/links", given)).status).toBe(201);
  },
);

test.each(["GET", "DELETE"])("%s requests are accepted with any content type", async (method) => {
  const reply = await world.call(method, `/links/${unknownId}`, {
    headers: { "content-type": "text/plain" },
  });
  expect(reply.status).toBe(404);
});

const notJson = [
  ["", messages.body_invalid],
  ["{", messages.body_invalid],
  ["{'name': 1}", messages.body_invalid],
  ["name=1", messages.body_invalid],
  ['{"name": "a"} x', messages.body_invalid],
  ["undefined", messages.body_invalid],
  ["[]", messages.body_not_object],
  ["null", messages.body_not_object],
  ["5", messages.body_not_object],
  ['"text"', messages.body_not_object],
] as const;

test.each(notJson)(
  "every endpoint that takes a body returns 400 for the body %j",
  async (body, error) => {
    for (const [method, path, key] of listWrites(world)) {
      const headers = { "content-type": "application/json" };
      const reply = await world.call(method, path, { key, body, headers });
      expect([path, reply.status, reply.body]).toEqual([path, 400, { error }]);
    }
  },
);

test("a request body that is not valid UTF-8 is rejected with 400", async () => {
  const bytes = Buffer.concat([Buffer.from('{"name": "'), Buffer.of(0xff), Buffer.from('"}')]);
  const response = await world.fetch(post(world, bytes));
  expect([response.status, await response.json()]).toEqual([400, { error: messages.body_invalid }]);
});

test("a request for an unknown endpoint returns a JSON 404 with or without a key", async () => {
  for (const key of [world.key, null]) {
    for (const [method, path] of [
      ["GET", "/nothing"],
      ["GET", "/links//"],
      ["GET", "/links/.json"],
      ["GET", "/.json"],
      ["OPTIONS", "/nothing"],
      ["GET", `/links/${unknownId}/clicks`],
      ["GET", "/%2e%2e/links"],
    ] as const) {
      const reply = await world.call(method, path, { key });
      const wanted = [method, path, 404, { error: messages.route_unknown }];
      expect([method, path, reply.status, reply.body]).toEqual(wanted);
      expect(reply.headers.get("content-type")).toBe("application/json");
    }
  }
  for (const path of ["/", "/api", "/api/v1", "/api/v2/links", "/links"]) {
    const response = await world.fetch(new Request(origin + path));
    expect([response.status, await response.json()]).toEqual([
      404,
      { error: messages.route_unknown },
    ]);
  }
});

function fill(bytes: number, letter = "x"): string {
  const size = Buffer.byteLength(letter);
  const rest = bytes - JSON.stringify({ social_description: "" }).length;
  const text = "x".repeat(rest % size) + letter.repeat(Math.floor(rest / size));
  return JSON.stringify({ social_description: text });
}

test("a body of 1 MiB is accepted, and a larger body is rejected with 413", async () => {
  const headers = { "content-type": "application/json" };
  const largest = await world.call("POST", "/links", { body: fill(mebibyte), headers });
  expect(largest.status).toBe(201);
  for (const [method, path, key] of listWrites(world)) {
    const reply = await world.call(method, path, { key, body: fill(mebibyte + 1), headers });
    const isKeyless = path === "/short_links/resolve";
    const error = isKeyless ? messages.keyless_too_large : messages.body_too_large;
    const wanted = [path, 413, { error }];
    expect([path, reply.status, reply.body]).toEqual(wanted);
  }
});

test("the size of a body passed as a string is measured in bytes, not characters", async () => {
  const headers = { authorization: `Token ${world.key}`, "content-type": "application/json" };
  const url = `${origin}${apiPrefix}/links`;
  for (const [bytes, status] of [
    [mebibyte, 201],
    [mebibyte + 1, 413],
  ] as const) {
    const body = fill(bytes, "é");
    expect([Buffer.byteLength(body), body.length < mebibyte]).toEqual([bytes, true]);
    expect([bytes, (await world.answer({ method: "POST", url, headers, body })).status]).toEqual([
      bytes,
      status,
    ]);
  }
});

test("the size of a body is measured as it arrives, whatever its Content-Length", async () => {
  let pulled = 0;
  const endless = stream(100_000, () => (pulled += 1));
  const lying = stream(17);
  for (const request of [
    post(world, endless),
    post(world, lying, { "content-length": "10" }),
    post(world, "{}", { "content-length": `${mebibyte + 1}` }),
  ]) {
    const response = await world.fetch(request);
    expect([response.status, await response.json()]).toEqual([
      413,
      { error: messages.body_too_large },
    ]);
  }
  expect(pulled).toBe(17);
});

test("a request with a URL longer than 16 KiB returns 414", async () => {
  const reply = await world.call("GET", "/links", { query: `q[name_eq]=${"x".repeat(16_384)}` });
  expect([reply.status, reply.body]).toEqual([414, { error: messages.address_too_long }]);
  const start = `${origin}${apiPrefix}/links?q[name_eq]=`.length;
  for (const [characters, status] of [
    [16_384, 200],
    [16_385, 414],
  ] as const) {
    const query = `q[name_eq]=${"x".repeat(characters - start)}`;
    const exact = await world.call("GET", "/links", { query });
    expect([characters, exact.status]).toEqual([characters, status]);
  }
});

test("the body of a request with a rejected key is never read", async () => {
  const free = await world.addProject({ plan: "free" });
  const suspended = await world.addProject({ suspended: true });
  for (const [key, path] of [
    [null, "/links"],
    ["waypost_unknown", "/links"],
    [world.master, "/links"],
    [await world.addKey({ project: suspended }), "/links"],
    [await world.addKey({ scopes: ["links.show"] }), "/links"],
    [await world.addKey({ role: "viewer" }), "/ios_apps"],
    [await world.addKey({ project: free }), "/short_links"],
    [world.key, "/projects"],
  ] as const) {
    let pulled = 0;
    const body = stream(1000, () => (pulled += 1));
    const authorization = key === null ? "" : `Token ${key}`;
    const response = await world.fetch(post(world, body, { authorization }, path));
    expect([path, response.status, pulled]).toEqual([path, 401, 0]);
  }
});

test("errors in the path or key take precedence over errors in the body", async () => {
  const suspended = await world.addKey({ project: await world.addProject({ suspended: true }) });
  const free = await world.addKey({ project: await world.addProject({ plan: "free" }) });
  const shower = await world.addKey({ role: "viewer", scopes: ["links.show"] });
  const viewer = await world.addKey({ role: "viewer" });
  const plain = { "content-type": "text/plain" };
  const json = { "content-type": "application/json" };
  const large = " ".repeat(mebibyte + 1);
  const cases: readonly (readonly [string, string, CallInput, number, string])[] = [
    ["POST", "/nothing", { key: null }, 404, messages.route_unknown],
    ["GET", "/links", { key: null, query: "page=0" }, 401, messages.key_missing],
    ["GET", "/projects", { key: suspended }, 401, messages.account_suspended],
    ["POST", "/projects", { key: shower }, 401, messages.master_required],
    ["GET", "/links", { key: shower, query: "page=0" }, 401, messages.scope_missing("links.index")],
    ["POST", "/ios_apps", { key: shower }, 401, messages.scope_missing("ios_apps.create")],
    ["POST", "/ios_apps", { key: viewer }, 401, messages.role_required("manager")],
    ["POST", "/short_links", { key: free }, 401, messages.plan_required],
    ["POST", "/links", { body: "{", headers: plain }, 400, messages.content_type],
    ["POST", "/links", { body: large, headers: plain }, 400, messages.content_type],
    ["POST", "/links", { body: large, headers: json }, 413, messages.body_too_large],
    ["PATCH", `/links/${unknownId}`, { body: "{" }, 400, messages.body_invalid],
    ["PATCH", `/ios_apps/${unknownId}`, { body: {} }, 400, messages.parameter_missing("ios_app")],
    ["PATCH", `/links/${unknownId}`, { body: { name: [5] } }, 422, "Name must be a string"],
    ["PATCH", `/links/${unknownId}`, { body: { url: "x" } }, 404, messages.link_not_found],
  ];
  for (const [method, path, given, status, error] of cases) {
    const reply = await world.call(method, path, given);
    expect([method, path, reply.status, reply.body]).toEqual([method, path, status, { error }]);
  }
});

test.skipIf(isOnPostgres)(
  "while another process locks the database, write requests return 503 and reads succeed",
  async () => {
    await using world = await createWorld();
    const link = (await world.call("POST", "/links", { body: { path: "a" } })).body;
    const holder = openDatabase(world.file);
    holder.exec("BEGIN IMMEDIATE");
    try {
      for (const [method, path, body] of [
        ["POST", "/links", { path: "b" }],
        ["PATCH", `/links/${link.id}`, { name: "new" }],
        ["DELETE", `/links/${link.id}`, undefined],
      ] as const) {
        const asked = world.call(method, path, { body });
        // When this read is done, the write is waiting for the lock.
        const reading = await world.call("GET", `/links/${link.id}`);
        expect([reading.status, reading.body]).toEqual([200, link]);
        world.advance(10_000);
        const reply = await asked;
        expect([reply.status, reply.text]).toEqual([
          503,
          JSON.stringify({ error: messages.not_begun }),
        ]);
        expect(reply.headers.get("retry-after")).toBe("1");
        expect(reply.headers.get("content-type")).toBe("application/json");
      }
    } finally {
      holder.exec("ROLLBACK");
      holder.close();
    }
    expect((await world.call("POST", "/links", { body: { path: "c" } })).status).toBe(201);
    const { links } = (await world.call("GET", "/links", { query: "q[s]=path asc" })).body;
    expect(links).toMatchObject([link, { path: "c" }]);
    expect(world.reported).toEqual([]);
  },
);

test("a request returns 503 if its body does not arrive within ten seconds", async () => {
  const never = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) });
  let isAnswered = false;
  const answering = world.fetch(post(world, never)).finally(() => (isAnswered = true));
  world.advance(9999);
  expect((await world.call("GET", "/links")).status).toBe(200);
  expect(isAnswered).toBe(false);
  world.advance(1);
  const response = await answering;
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await response.json()).toEqual({ error: messages.not_begun });
});

test("the response to an internal error contains only a reference ID, not the cause", async () => {
  await using world = await createWorld();
  await world.call("POST", "/links", { body: {} });
  await renameTable(world, "links", "lost");
  for (const [method, path, body] of [
    ["GET", "/links", undefined],
    ["GET", `/links/${unknownId}`, undefined],
    ["POST", "/links", {}],
  ] as const) {
    const reply = await world.call(method, path, { body });
    const reference = `reference-${world.reported.length}`;
    expect([reply.status, reply.body]).toEqual([500, { error: messages.internal(reference) }]);
    expect(`${reply.text} ${JSON.stringify([...reply.headers])}`).not.toMatch(/sql|\.ts|at |lost/i);
  }
  expect(world.reported).toHaveLength(3);
  await renameTable(world, "lost", "links");
});

async function renameTable({ openSql }: World, from: string, to: string): Promise<void> {
  const vandal = await openSql();
  await vandal.write((db) =>
    sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(db),
  );
  await vandal.close();
}

test("random input never causes a 5xx, and every error is JSON with a single message", async () => {
  await using world = await createWorld();
  const writes: Target[] = listWrites(world).map(([method, path]) => ({ method, path }));
  const reads = ["/links", "/ios_apps", "/android_apps"].map((path) => ({ method: "GET", path }));
  const target = fc.constantFrom(...writes, ...reads);
  const field = fc.constantFrom("url", "path", "name", "ios_app", "android_app", "options", "id");
  const leaf = fc.oneof(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 2 }));
  const fields = fc.dictionary(field, leaf, { maxKeys: 4 });
  const body = fc.oneof(fields, fc.dictionary(field, fields, { maxKeys: 3 }), fc.string());
  const text = fc.string({ unit: "binary", maxLength: 8 });
  const value = text.map((given) => encodeURIComponent(given.toWellFormed()));
  const name = fc.constantFrom("page", "limit", "q", "q[s]", "q[name_cont]", "q[id_in][]");
  const pair = fc.tuple(name, value).map((parts) => parts.join("="));
  const query = fc.array(pair).map((pairs) => pairs.join("&"));
  const run = async ({ method, path }: Target, sent: unknown, asked: string) => {
    world.advance(60_000);
    const given = { body: method === "GET" ? undefined : sent, query: asked };
    const reply = await world.call(method, path, given);
    expect(reply.status).toBeLessThan(500);
    if (reply.status < 400) return;
    expect(reply.headers.get("content-type")).toBe("application/json");
    const isShort = path === "/short_links" && reply.status === 422;
    expect(Object.keys(reply.body)).toEqual([isShort ? "errors" : "error"]);
    expect(Object.values(reply.body)).toEqual([expect.stringMatching(/./)]);
  };
  await fc.assert(fc.asyncProperty(target, body, query, run), { numRuns: 300 });
  expect(world.reported).toEqual([]);
});

test("every response forbids caching", async () => {
  const link = (await world.call("POST", "/links", { body: {} })).body;
  for (const reply of [
    await world.call("GET", `/links/${link.id}`),
    await world.call("GET", "/links", { key: null }),
    await world.call("DELETE", `/links/${link.id}`),
  ]) {
    expect(reply.headers.get("cache-control")).toBe("no-store");
  }
});
