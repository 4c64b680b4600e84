import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openRemoteSender, sendEmbedded } from "../../src/client/carriers.ts";
import { buildRequest } from "../../src/client/request.ts";
import type { Send } from "../../src/client/send-once.ts";
import type { ApiRequest } from "../../src/contract/api-message.ts";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { apiPrefix, contract, listEndpoints } from "../../src/contract/index.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import { limits } from "../../src/contract/limits.ts";
import { createWorld, type World } from "../support/world.ts";

/**
 * The one seam between client and service: what answers an API message answers it alike, whether
 * it was handed over in this process or came over HTTP. Two stores that were made alike are asked
 * the same, one by each carrier.
 */

type Side = { readonly world: World; readonly send: Send; readonly origin: string };
type Ask = (side: Side) => ApiRequest;

const { links, shortLinks, iosApps, androidApps, projects, pageTemplate } = contract;
const unknown = "00000000-0000-4000-8000-000000000000";
const signal = new AbortController().signal;

let sides: readonly Side[];
let close: () => Promise<void>;

beforeAll(async () => {
  const [embedded, remote] = [await createWorld(countBytes()), await createWorld(countBytes())];
  const listen = getRequestListener(remote.fetch);
  const server = createServer((request, response) => void listen(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo;
  const sender = openRemoteSender();
  sides = [
    { world: embedded, send: sendEmbedded(embedded.answer), origin: "http://waypost.invalid" },
    { world: remote, send: sender.send, origin: `http://127.0.0.1:${port}` },
  ];
  close = async () => {
    await sender.close();
    server.close();
    for (const { world } of sides) await world[Symbol.asyncDispose]();
  };
});
afterAll(() => close());

/** Ids of what each step made, by the step's name. */
const made = new Map<string, string>();
const idOf = (name: string): string => made.get(name) ?? unknown;

type Step = readonly [name: string, endpoint: Endpoint, input: () => JsonObject];

const fingerprint = Array.from({ length: 32 }, () => "AB").join(":");
const steps: readonly Step[] = [
  ["a project", projects.create, () => ({ name: "Other", subdomain: "other" })],
  ["the project again", projects.show, () => ({ id: idOf("a project") })],
  ["its new name", projects.update, () => ({ id: idOf("a project"), name: "Spring" })],
  ["all projects", projects.index, () => ({ limit: 1, page: 2 })],
  ["the project's end", projects.destroy, () => ({ id: idOf("a project") })],
  ["an iOS app", iosApps.create, () => ({ name: "A", bundle_id: "com.a", team_id: "ABCDE12345" })],
  ["the iOS app again", iosApps.show, () => ({ id: idOf("an iOS app") })],
  ["the iOS app's new name", iosApps.update, () => ({ id: idOf("an iOS app"), name: "B" })],
  ["all iOS apps", iosApps.index, () => ({})],
  [
    "an Android app",
    androidApps.create,
    () => ({ name: "A", package_name: "com.a", fingerprints: [fingerprint] }),
  ],
  ["the Android app again", androidApps.show, () => ({ id: idOf("an Android app") })],
  ["its new name", androidApps.update, () => ({ id: idOf("an Android app"), name: "ü" })],
  ["all Android apps", androidApps.index, () => ({})],
  ["a link", links.create, () => ({ path: "spring", url: "https://example.com/ü?a=1" })],
  ["the link again", links.show, () => ({ id: idOf("a link") })],
  ["the link's new name", links.update, () => ({ id: idOf("a link"), name: "Frühling" })],
  ["the same path", links.create, () => ({ path: "spring" })],
  ["an upsert", links.upsert, () => ({ path: "spring", url: "https://example.com/b" })],
  [
    "some links",
    links.index,
    () => ({
      filters: [{ field: "path", condition: "in", value: ["spring", "summer"] }],
      sort: { field: "created_at", direction: "desc" },
    }),
  ],
  ["a short link", shortLinks.create, () => ({ url: "http://default.localhost:8787/spring" })],
  ["the short link", shortLinks.resolve, () => ({ url: "http://default.localhost:8787/spring" })],
  ["a draft", pageTemplate.save, () => ({ body: "<p>{{ link.name }}</p>" })],
  ["a draft with a fault", pageTemplate.save, () => ({ body: "<p>{{ link.nam }}" })],
  ["a preview", pageTemplate.preview, () => ({ link_id: idOf("a link"), user_agent: "iPhone" })],
  ["a page with a fault", pageTemplate.publish, () => ({ body: "{% if %}" })],
  ["a page", pageTemplate.publish, () => ({})],
  ["all versions", pageTemplate.versions, () => ({})],
  ["a version", pageTemplate.version, () => ({ id: idOf("all versions") })],
  ["a version again", pageTemplate.restore, () => ({ id: idOf("all versions") })],
  ["no page", pageTemplate.unpublish, () => ({})],
  ["the link's end", links.destroy, () => ({ id: idOf("a link") })],
  ["the link once more", links.destroy, () => ({ id: idOf("a link") })],
  ["the iOS app's end", iosApps.destroy, () => ({ id: idOf("an iOS app") })],
  ["the Android app's end", androidApps.destroy, () => ({ id: idOf("an Android app") })],
];

describe("both carriers are answered alike", () => {
  test.each(steps)("for %s", async (name, endpoint, input) => {
    const key = endpoint.auth === "master" ? "master" : "key";
    const reply = await compare(({ world, origin }) =>
      buildRequest(endpoint, input(), { origin, key: world[key] }),
    );
    const id = findId(reply.body);
    if (id !== undefined) made.set(name, id);
  });

  test("and no endpoint was left out, nor a kind of answer", () => {
    const asked = new Set(steps.map(([, endpoint]) => endpoint.tool));
    expect(
      listEndpoints()
        .map(({ tool }) => tool)
        .filter((tool) => !asked.has(tool)),
    ).toEqual([]);
    expect(statuses).toEqual(new Set([200, 201, 204, 404, 422]));
  });

  describe.each(listEndpoints())("where $tool is refused", (endpoint) => {
    const input = { id: unknown, path: "x", url: "https://example.com" };
    const ask =
      (key: string | undefined, change: Partial<ApiRequest> = {}): Ask =>
      ({ origin }) => ({ ...buildRequest(endpoint, input, { origin, key }), ...change });
    const asOwner =
      (change: (request: ApiRequest) => Partial<ApiRequest>): Ask =>
      ({ world, origin }) => {
        const key = endpoint.auth === "master" ? world.master : world.key;
        const request = buildRequest(endpoint, input, { origin, key });
        return { ...request, ...change(request) };
      };

    test.each([
      ["without a key", ask(undefined)],
      ["with a key that is none", ask("nobody")],
      ["at a path that is none", asOwner(({ url }) => ({ url: `${url.split("?")[0]}/x/y` }))],
      ["at a too long address", asOwner(({ url }) => ({ url: `${url}?${"x".repeat(9000)}` }))],
      ["of an id that nobody has", asOwner(() => ({}))],
    ])("%s", async (_, ask) => {
      await compare(ask);
    });

    if (endpoint.body === undefined) return;
    test.each([
      ["a body that is no JSON", "{"],
      ["a body that is a list", "[]"],
      ["an empty body", ""],
      ["fields of another type", JSON.stringify({ link: { url: 5 }, url: 5, body: 5 })],
      ["a too large body", `"${"x".repeat(limits.body_bytes)}"`],
    ])("by %s", async (_, body) => {
      await compare(asOwner(() => ({ body })));
    });

    test("by a body of another type", async () => {
      await compare(
        asOwner(({ headers }) => ({ headers: { ...headers, "content-type": "text/plain" } })),
      );
    });
  });
});

const statuses = new Set<number>();
/** What HTTP itself says beside the reply. */
const ofHttp = new Set(["connection", "date", "keep-alive", "content-length", "transfer-encoding"]);

async function compare(ask: Ask) {
  const [embedded, remote] = await Promise.all(sides.map((side) => read(side, ask(side))));
  expect(remote).toEqual(embedded);
  if (embedded === undefined) throw new Error("there are two sides");
  expect(embedded.status).toBeLessThan(500);
  statuses.add(embedded.status);
  return embedded;
}

async function read({ send, origin }: Side, request: ApiRequest) {
  const { status, headers, readBody } = await send(request, () => signal);
  const isPage = headers["content-type"]?.startsWith("text/html") === true;
  const told = Object.entries(headers).filter(([name]) => !ofHttp.has(name));
  expect(request.url.startsWith(`${origin}${apiPrefix}`)).toBe(true);
  return { status, headers: Object.fromEntries(told), body: await readBody(isPage) };
}

/** The id of what was made or, of a list, of its first row. */
function findId(body: unknown): string | undefined {
  return /"id":"([\da-f-]{36})"/.exec(JSON.stringify(body) ?? "")?.[1];
}

/** The same bytes in the same order, however often they are asked for. */
function countBytes(): (count: number) => Uint8Array {
  let asked = 0;
  return (count) => {
    asked += 1;
    return createHash("shake256", { outputLength: count }).update(String(asked)).digest();
  };
}
