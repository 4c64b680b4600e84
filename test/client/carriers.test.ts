import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { describe, expect, test } from "vitest";
import { openRemoteSender } from "../../src/client/remote-sender.ts";
import { buildRequest } from "../../src/client/request.ts";
import { type Send, sendEmbedded } from "../../src/client/send-once.ts";
import type { AnswerApi, ApiReply, ApiRequest } from "../../src/contract/api-message.ts";
import { budgets, limits } from "../../src/contract/limits.ts";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { apiPrefix, contract, listEndpoints } from "../../src/contract/index.ts";
import { answerOverHttp } from "../../src/service/http.ts";
import { openForAll } from "../support/open-for.ts";
import { openServer } from "../support/ports.ts";
import { createWorld, type World } from "../support/world.ts";
import { prepareScene, type Scene } from "./misbehaving/scenes.ts";

/** The API returns the same responses in this process and over HTTP, on two equal databases. */

type KeyName = "viewer" | "scoped" | "suspended" | "overLimit";
type Side = {
  readonly world: World;
  readonly keys: Readonly<Record<KeyName, string>>;
  readonly send: Send;
  readonly origin: string;
};
type RequestFactory = (side: Side) => ApiRequest;
type Change = (request: ApiRequest) => Partial<ApiRequest>;

const { links, shortLinks, projects, pageTemplate } = contract;
const unknown = "00000000-0000-4000-8000-000000000000";
const signal = new AbortController().signal;
const sender = openRemoteSender();

let embedded: Side;
let remote: Side;
const openCounted = () => createWorld(countBytes());

openForAll(openCounted, async (here, keep) => {
  const there = keep(await openCounted());
  const server = keep(await listen(there.answer, there.clock));
  const origin = "http://waypost.invalid";
  embedded = { ...(await addKeys(here)), send: sendEmbedded(here.answer), origin };
  remote = { ...(await addKeys(there)), send: keep(sender).send, origin: server.url };
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

function listen(answer: AnswerApi, clock: World["clock"]) {
  const answerHttp = answerOverHttp(answer, clock);
  // Node's default limit for headers is lower than our limit for addresses.
  const http = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    answerHttp(request, response, undefined);
  });
  return openServer(http);
}

const asText: Change = ({ headers }) => ({
  headers: { ...headers, "content-type": "text/plain" },
  body: "{}",
});

const asForm: Change = ({ headers }) => ({
  headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
  body: "name=a",
});

const askOverLimit: RequestFactory = (side) =>
  buildRequest(links.update, { id: unknown, name: "a" }, { ...side, key: side.keys.overLimit });

describe("embedded and remote calls", () => {
  test.each(listEndpoints().map((endpoint, at) => ({ endpoint, at })))(
    "return the same response when $endpoint.tool succeeds",
    async ({ endpoint, at }) => {
      const scenes = new Map<Side, Scene>();
      for (const side of [embedded, remote]) {
        scenes.set(side, await prepareScene(side.world, endpoint, 10 * at));
      }
      const reply = await compare((side) => {
        const { key, input } = scenes.get(side) ?? { key: "", input: {} };
        return buildRequest(endpoint, input, { origin: side.origin, key });
      });
      expect(reply.status).toBeLessThan(300);
    },
  );

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

  describe.each<Endpoint>(kinds)("calls of $tool", (endpoint) => {
    const input = { id: unknown, path: "x", url: "https://example.com" };
    const isMaster = endpoint.auth === "master";
    const by =
      (choose: (side: Side) => string | undefined, change: Change = () => ({})): RequestFactory =>
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
      [404, "because the path does not exist", noPath],
      [405, "because the method does not exist", asOwner(() => ({ method: "PROPFIND" }))],
      [414, "because the URL is too long", asOwner(({ url }) => ({ url: `${url}?${long}` }))],
    ])("return the same %i error %s", expectStatus);

    test.each(["HEAD", "OPTIONS"])("return the same response for the method %s", async (method) => {
      await compare(asOwner(() => ({ method, body: undefined })));
    });

    if (endpoint.auth !== "none") {
      test.each([
        [401, "without a key", by(() => undefined)],
        [401, "with an unknown key", by(() => "unknown")],
        [401, "with the other kind of key", by(({ world }) => world[isMaster ? "key" : "master"])],
      ])("return the same %i error %s", expectStatus);
      // These keys are rejected only by some endpoints. A viewer may read, for example.
      test.each(["viewer", "scoped", "suspended"] as const)(
        "return the same response for a %s key",
        async (kind) => {
          await compare(by(({ keys }) => keys[kind]));
        },
      );
    }

    if (endpoint.body === undefined) return;
    test.each([
      [400, "because the body is not JSON", body("{")],
      [400, "because the body is a list", body("[]")],
      [400, "because of the content type", asOwner(asText)],
      [400, "because the body is a form", asOwner(asForm)],
      [413, "because the body is too large", body(`"${"x".repeat(limits.body_bytes)}"`)],
    ])("return the same %i error %s", expectStatus);
    test.each([
      ["an empty body", body("")],
      ["unknown fields", body(JSON.stringify({ 'ü"': 1, link: { name: "a", 'ü"': 1 } }))],
      ["fields of the wrong type", body(JSON.stringify({ link: { url: 5 }, url: 5, body: 5 }))],
    ])("return the same response for %s", async (_, ask) => {
      await compare(ask);
    });
  });

  test("return the same response when the rate limit is reached", async () => {
    for (const side of [embedded, remote]) {
      for (let call = 0; call < budgets.link_writes.limit; call += 1) {
        await side.world.answer(askOverLimit(side));
      }
    }
    await expectStatus(429, "", askOverLimit);
  });

  test("return the same response for all headers and kinds of body", async () => {
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
      const request = { method: "GET", url: `${other.url}${apiPrefix}/links`, headers: {} };
      const direct = await read(sendEmbedded(answer), request);
      expect(await read(sender.send, request)).toStrictEqual(direct);
      expect(direct).toEqual(reply);
    }
  });
});

/** Headers that HTTP itself adds. */
const ofHttp = new Set([
  "connection",
  "date",
  "keep-alive",
  "content-length",
  "transfer-encoding",
  "x-request-id",
]);

async function expectStatus(status: number, _what: string, ask: RequestFactory): Promise<void> {
  expect((await compare(ask)).status).toBe(status);
}

async function compare(ask: RequestFactory) {
  const [direct, carried] = await Promise.all(
    [embedded, remote].map((side) => read(side.send, ask(side))),
  );
  // Fields that are undefined in this process are absent after HTTP.
  expect(carried).toStrictEqual(direct);
  if (direct === undefined) throw new Error("there are two sides");
  expect(direct.status).toBeLessThan(500);
  return direct;
}

async function read(send: Send, request: ApiRequest) {
  const { status, headers, readBody } = await send(request, signal);
  const told = Object.entries(headers).filter(([name]) => !ofHttp.has(name));
  return {
    status,
    headers: Object.fromEntries(told),
    body: await readBody(),
  };
}

/** Returns the same bytes in the same order each time. */
function countBytes(): (count: number) => Uint8Array {
  let asked = 0;
  return (count) => {
    asked += 1;
    return createHash("shake256", { outputLength: count }).update(String(asked)).digest();
  };
}
