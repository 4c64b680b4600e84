import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRemoteSender, sendEmbedded } from "../../src/client/carriers.ts";
import { buildRequest } from "../../src/client/request.ts";
import type { Send } from "../../src/client/send-once.ts";
import type { AnswerApi, ApiReply, ApiRequest } from "../../src/contract/api-message.ts";
import { budgets, limits } from "../../src/contract/limits.ts";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { apiPrefix, contract, listEndpoints } from "../../src/contract/index.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import { answerOverHttp } from "../../src/service/http.ts";
import { createWorld, type World } from "../support/world.ts";

/**
 * Tests that the API returns the same responses in this process and over HTTP. Two equal databases
 * get the same requests, one directly and one over HTTP.
 */

type KeyName = "viewer" | "scoped" | "suspended" | "overLimit";
type Side = {
  readonly world: World;
  readonly keys: Readonly<Record<KeyName, string>>;
  readonly send: Send;
  readonly origin: string;
};
type Ask = (side: Side) => ApiRequest;
type Change = (request: ApiRequest) => Partial<ApiRequest>;

const { links, linkStats, shortLinks, iosApps, androidApps, projects, pageTemplate } = contract;
const unknown = "00000000-0000-4000-8000-000000000000";
const signal = new AbortController().signal;
const sender = openRemoteSender();

let embedded: Side;
let remote: Side;
let server: Listening;

beforeAll(async () => {
  const [here, there] = [await createWorld(countBytes()), await createWorld(countBytes())];
  server = await listen(there.answer, there.clock);
  const origin = "http://waypost.invalid";
  embedded = { ...(await addKeys(here)), send: sendEmbedded(here.answer), origin };
  remote = { ...(await addKeys(there)), send: sender.send, origin: server.origin };
});
afterAll(async () => {
  await sender.close();
  await server[Symbol.asyncDispose]();
  for (const { world } of [embedded, remote]) await world[Symbol.asyncDispose]();
});

async function addKeys(world: World): Promise<Pick<Side, "world" | "keys">> {
  const project = await world.addProject({ suspended: true });
  const keys = {
    viewer: await world.addKey({ role: "viewer" }),
    scoped: await world.addKey({ scopes: ["links.index"] }),
    suspended: await world.addKey({ project }),
    overLimit: await world.addKey(),
  };
  return { world, keys };
}

type Listening = { readonly origin: string; readonly [Symbol.asyncDispose]: () => Promise<void> };

async function listen(answer: AnswerApi, clock: World["clock"]): Promise<Listening> {
  const answerHttp = answerOverHttp(answer, clock);
  // Node's default limit for headers is lower than our limit for addresses.
  const http = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    answerHttp(request, response, undefined);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  // A listening server has an address with a port.
  const { port } = http.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** The IDs of the created records by the step's name. */
const made = new Map<string, string>();
const idOf = (name: string): string => made.get(name) ?? unknown;

type Step = readonly [name: string, endpoint: Endpoint, input: () => JsonObject];

const fingerprint = Array.from({ length: 32 }, () => "AB").join(":");
const steps: readonly Step[] = [
  ["creating a project", projects.create, () => ({ name: "Other", subdomain: "other" })],
  ["reading a project", projects.show, () => ({ id: idOf("creating a project") })],
  [
    "renaming a project",
    projects.update,
    () => ({ id: idOf("creating a project"), name: "Spring" }),
  ],
  ["listing projects", projects.index, () => ({ limit: 1, page: 2 })],
  ["deleting a project", projects.destroy, () => ({ id: idOf("creating a project") })],
  [
    "registering an iOS app",
    iosApps.create,
    () => ({ name: "A", bundle_id: "com.a", team_id: "ABCDE12345" }),
  ],
  ["reading an iOS app", iosApps.show, () => ({ id: idOf("registering an iOS app") })],
  [
    "renaming an iOS app",
    iosApps.update,
    () => ({ id: idOf("registering an iOS app"), name: "B" }),
  ],
  ["listing iOS apps", iosApps.index, () => ({})],
  [
    "registering an Android app",
    androidApps.create,
    () => ({ name: "A", package_name: "com.a", fingerprints: [fingerprint] }),
  ],
  ["reading an Android app", androidApps.show, () => ({ id: idOf("registering an Android app") })],
  [
    "renaming an Android app",
    androidApps.update,
    () => ({ id: idOf("registering an Android app"), name: "ü" }),
  ],
  ["listing Android apps", androidApps.index, () => ({})],
  ["creating a link", links.create, () => ({ path: "spring", url: "https://example.com/ü?a=1" })],
  ["reading a link", links.show, () => ({ id: idOf("creating a link") })],
  ["renaming a link", links.update, () => ({ id: idOf("creating a link"), name: "Frühling" })],
  ["creating a link at a taken path", links.create, () => ({ path: "spring" })],
  ["upserting a link", links.upsert, () => ({ path: "spring", url: "https://example.com/b" })],
  [
    "listing links with a filter",
    links.index,
    () => ({
      filters: [{ field: "path", condition: "in", value: ["spring", "summer"] }],
      sort: { field: "created_at", direction: "desc" },
    }),
  ],
  [
    "shortening an address",
    shortLinks.create,
    () => ({ url: "http://default.localhost:8787/spring" }),
  ],
  [
    "resolving a short link",
    shortLinks.resolve,
    () => ({ url: "http://default.localhost:8787/spring" }),
  ],
  [
    "reading link statistics",
    linkStats.show,
    () => ({ from: "2026-01-01", to: "2026-01-31", by: "week" }),
  ],
  ["saving a draft", pageTemplate.save, () => ({ body: "<p>{{ link.name }}</p>" })],
  ["saving an invalid draft", pageTemplate.save, () => ({ body: "<p>{{ link.nam }}" })],
  [
    "previewing a page",
    pageTemplate.preview,
    () => ({ link_id: idOf("creating a link"), user_agent: "iPhone" }),
  ],
  ["publishing an invalid page", pageTemplate.publish, () => ({ body: "{% if %}" })],
  ["publishing a page", pageTemplate.publish, () => ({})],
  ["listing versions", pageTemplate.versions, () => ({})],
  ["reading a version", pageTemplate.version, () => ({ id: idOf("listing versions") })],
  ["restoring a version", pageTemplate.restore, () => ({ id: idOf("listing versions") })],
  ["unpublishing a page", pageTemplate.unpublish, () => ({})],
  ["deleting a link", links.destroy, () => ({ id: idOf("creating a link") })],
  ["deleting a deleted link", links.destroy, () => ({ id: idOf("creating a link") })],
  ["deleting an iOS app", iosApps.destroy, () => ({ id: idOf("registering an iOS app") })],
  [
    "deleting an Android app",
    androidApps.destroy,
    () => ({ id: idOf("registering an Android app") }),
  ],
  ["restoring a link", links.restore, () => ({ id: idOf("creating a link") })],
  ["restoring an iOS app", iosApps.restore, () => ({ id: idOf("registering an iOS app") })],
  [
    "restoring an Android app",
    androidApps.restore,
    () => ({ id: idOf("registering an Android app") }),
  ],
];

const asText: Change = ({ headers }) => ({
  headers: { ...headers, "content-type": "text/plain" },
  body: "{}",
});

const asForm: Change = ({ headers }) => ({
  headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
  body: "name=a",
});

const askOverLimit: Ask = (side) =>
  buildRequest(links.update, { id: unknown, name: "a" }, { ...side, key: side.keys.overLimit });

describe("embedded and remote calls return the same response", () => {
  test.each(steps)("when %s", async (name, endpoint, input) => {
    const key = endpoint.auth === "master" ? "master" : "key";
    const reply = await compare(({ world, origin }) =>
      buildRequest(endpoint, input(), { origin, key: world[key] }),
    );
    const id = findId(reply.body);
    if (id !== undefined) made.set(name, id);
  });

  test("in all endpoints and for all success and error statuses", () => {
    const asked = new Set(steps.map(([, endpoint]) => endpoint.tool));
    expect(
      listEndpoints()
        .map(({ tool }) => tool)
        .filter((tool) => !asked.has(tool)),
    ).toEqual([]);
    expect(statuses).toEqual(new Set([200, 201, 204, 404, 422]));
  });

  // An endpoint of each kind: list, record, write with or without a body, page, and kind of key.
  const kinds = [
    links.index,
    links.show,
    links.create,
    links.update,
    links.destroy,
    projects.update,
    pageTemplate.preview,
    shortLinks.resolve,
  ];

  describe.each<Endpoint>(kinds)("when $tool is rejected", (endpoint) => {
    const input = { id: unknown, path: "x", url: "https://example.com" };
    const isMaster = endpoint.auth === "master";
    const by =
      (choose: (side: Side) => string | undefined, change: Change = () => ({})): Ask =>
      (side) => {
        const request = buildRequest(endpoint, input, { origin: side.origin, key: choose(side) });
        return { ...request, ...change(request) };
      };
    const asOwner = (change: Change) =>
      by(({ world }) => (isMaster ? world.master : world.key), change);
    const noPath = asOwner(({ url }) => ({ url: `${url.split("?")[0]}/x/y` }));
    const long = "x".repeat(limits.address_characters);
    const body = (text: string) => asOwner(() => ({ body: text }));

    test.each([
      [404, "because its path does not exist", noPath],
      [405, "because its method does not exist", asOwner(() => ({ method: "PROPFIND" }))],
      [414, "because its address is too long", asOwner(({ url }) => ({ url: `${url}?${long}` }))],
    ])("%i %s", expectStatus);

    test.each(["HEAD", "OPTIONS"])("for the method %s", async (method) => {
      await compare(asOwner(() => ({ method, body: undefined })));
    });

    if (endpoint.auth !== "none") {
      test.each([
        [401, "without a key", by(() => undefined)],
        [401, "with an unknown key", by(() => "unknown")],
        [401, "with the other kind of key", by(({ world }) => world[isMaster ? "key" : "master"])],
      ])("%i %s", expectStatus);
      // These keys are rejected only by some endpoints. A viewer may read, for example.
      test.each(["viewer", "scoped", "suspended"] as const)(
        "for a key that is %s",
        async (kind) => {
          await compare(by(({ keys }) => keys[kind]));
        },
      );
    }

    if (endpoint.body === undefined) return;
    test.each([
      [400, "because its body is not JSON", body("{")],
      [400, "because its body is a list", body("[]")],
      [400, "because of its content type", asOwner(asText)],
      [400, "because its body is a form", asOwner(asForm)],
      [413, "because its body is too large", body(`"${"x".repeat(limits.body_bytes)}"`)],
    ])("%i %s", expectStatus);
    test.each([
      ["an empty body", body("")],
      ["unknown fields", body(JSON.stringify({ 'ü"': 1, link: { name: "a", 'ü"': 1 } }))],
      ["fields of the wrong type", body(JSON.stringify({ link: { url: 5 }, url: 5, body: 5 }))],
    ])("for %s", async (_, ask) => {
      await compare(ask);
    });
  });

  test("when a rate limit is reached", async () => {
    for (const side of [embedded, remote]) {
      for (let call = 0; call < budgets.link_writes.limit; call += 1) {
        await side.world.answer(askOverLimit(side));
      }
    }
    await expectStatus(429, "", askOverLimit);
  });

  test("with every header and kind of body", async () => {
    const json = { "content-type": "application/json" };
    const replies: readonly ApiReply[] = [
      { status: 503, headers: { ...json, "retry-after": "7" }, body: { error: "Wait." } },
      { status: 500, headers: json, body: { error: "Reference x", problems: [{ field: "ü" }] } },
      { status: 200, headers: { "content-type": "text/html", "x-more": "a, b" }, body: "<p>ü" },
      { status: 204, headers: { "cache-control": "no-store" }, body: null },
    ];
    for (const reply of replies) {
      const answer = () => Promise.resolve(reply);
      await using other = await listen(answer, embedded.world.clock);
      const request = { method: "GET", url: `${other.origin}${apiPrefix}/links`, headers: {} };
      const direct = await read(sendEmbedded(answer), request);
      expect(await read(sender.send, request)).toStrictEqual(direct);
      expect(direct).toEqual(reply);
    }
  });
});

const statuses = new Set<number>();
/** Headers that HTTP itself adds. */
const ofHttp = new Set([
  "connection",
  "date",
  "keep-alive",
  "content-length",
  "transfer-encoding",
  "x-request-id",
]);

async function expectStatus(status: number, _what: string, ask: Ask): Promise<void> {
  expect((await compare(ask)).status).toBe(status);
}

async function compare(ask: Ask) {
  const [direct, carried] = await Promise.all(
    [embedded, remote].map((side) => read(side.send, ask(side))),
  );
  // Fields that are undefined in this process are absent after HTTP.
  expect(carried).toStrictEqual(direct);
  if (direct === undefined) throw new Error("there are two sides");
  expect(direct.status).toBeLessThan(500);
  statuses.add(direct.status);
  return direct;
}

async function read(send: Send, request: ApiRequest) {
  const { status, headers, readBody } = await send(request, signal);
  const isPage = headers["content-type"]?.startsWith("text/html") === true;
  const told = Object.entries(headers).filter(([name]) => !ofHttp.has(name));
  return {
    status,
    headers: Object.fromEntries(told),
    body: await readBody(isPage ? "page" : "data"),
  };
}

/** Returns the ID of the created record, or of the first row in a list. */
function findId(body: unknown): string | undefined {
  return /"id":"([\da-f-]{36})"/.exec(JSON.stringify(body) ?? "")?.[1];
}

/** Returns the same bytes in the same order each time. */
function countBytes(): (count: number) => Uint8Array {
  let asked = 0;
  return (count) => {
    asked += 1;
    return createHash("shake256", { outputLength: count }).update(String(asked)).digest();
  };
}
