import { setImmediate as turn } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import type { KnownKey } from "../../../src/contract/access.ts";
import { createAccess } from "../../../src/mcp/access/key-access.ts";
import type { KeyContext } from "../../../src/mcp/access/key-context.ts";
import { createToolbox } from "../../../src/mcp/tools/toolbox.ts";
import { createMcpHttp } from "../../../src/mcp/transport/http.ts";
import { listenRequest, modernCall } from "../../support/mcp-post.ts";

/** What each key has behind `/mcp`, for how long, and how much of it at once. */

const known: KnownKey = {
  facts: undefined,
  linkHost: undefined,
  hasSecondHost: false,
  linkInReferrer: false,
};

/** The way in without a port before it; whatever is shown as a token is a key. */
function openWay() {
  const made: string[] = [];
  const http = createMcpHttp({
    toolbox: createToolbox({ mode: "full", selection: [] }),
    identify: (token) => Promise.resolve(token === "none" ? undefined : { key: token, known }),
    createKeyContext: ({ key = "" }, { onChange }) => {
      made.push(key);
      const access = createAccess({
        hasKey: true,
        scopes: undefined,
        facts: undefined,
        now: () => 0,
        holds_ms: 1,
        onChange,
        onLearned: () => {},
      });
      // Nothing else of a key context is looked at where no tool is called.
      return { access, renew: () => Promise.resolve() } as KeyContext;
    },
    createServer: () => {
      const capabilities = { tools: { listChanged: true } };
      const server = new Server({ name: "test", version: "1" }, { capabilities });
      server.setRequestHandler("tools/call", () => ({ content: [] }));
      return server;
    },
    createDirectCalls: () => ({ admit: () => {}, knows: () => false, find: () => undefined }),
    hostnames: ["127.0.0.1"],
    setAlarm: () => () => {},
    clock: { now: () => 0, monotonic: () => 0 },
    onError: () => {},
    report: String,
  });
  const ask = (init: RequestInit, address?: string) => {
    const headers = { ...(init.headers as Record<string, string>), host: "127.0.0.1" };
    return http.fetch(new Request("http://127.0.0.1/mcp", { ...init, headers }), address);
  };
  const post = (init: RequestInit, address?: string) => ask({ method: "POST", ...init }, address);
  return {
    http,
    call: (key: string) => post(modernCall(key, 1, "any")),
    listen: (key: string, address?: string) => post(listenRequest(key), address),
    /** A call whose body comes when the test says so. */
    begin: (key: string) => {
      let end: (() => void) | undefined;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          end = () => controller.close();
        },
      });
      const { headers } = modernCall(key, 1, "any");
      // The types of the platform do not know what its own requests need for a stream.
      const init: RequestInit & { readonly duplex: "half" } = { headers, body, duplex: "half" };
      return { answered: post(init), end: () => end?.() };
    },
    /** Opens the key's door, and does nothing behind it. */
    knock: async (key: string) => {
      const headers = { authorization: `Bearer ${key}`, accept: "text/event-stream" };
      expect((await ask({ headers })).status).toBe(400);
    },
    countMade: (key: string) => made.filter((name) => name === key).length,
  };
}

describe("of a thousand keys", () => {
  test("who was not seen for the longest time gives way, and nobody who listens", async () => {
    const { knock, listen, countMade } = openWay();
    const stream = await listen("listener");
    for (let key = 1; key <= 999; key += 1) await knock(`key-${key}`);
    await knock("key-1");
    await knock("key-1000");
    // Whoever gave way is made anew when it comes back.
    for (const key of ["listener", "key-1", "key-3", "key-999"]) {
      await knock(key);
      expect([key, countMade(key)]).toEqual([key, 1]);
    }
    await knock("key-2");
    expect(countMade("key-2")).toBe(2);
    await stream.body?.cancel();
  });
});

describe("the calls of a key at a time", () => {
  test("are a hundred, of which the bodies may still be on the way", async () => {
    const { begin, call } = openWay();
    const begun = Array.from({ length: 100 }, () => begin("one"));
    await turn();
    const refused = await call("one");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await call("another")).status).toBe(200);
    for (const { end } of begun) end();
    const statuses = begun.map(async ({ answered }) => (await answered).status);
    // None of them was a message at all.
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([400]));
    expect((await call("one")).status).toBe(200);
  });

  test("are not those that only listen", async () => {
    const { listen, call } = openWay();
    const streams = await Promise.all(Array.from({ length: 100 }, () => listen("one")));
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await call("one")).status).toBe(200);
    await Promise.all(streams.map(async ({ body }) => body?.cancel()));
  });
});

describe("who listens", () => {
  test("is refused where there is no room, has room again when another has left", async () => {
    const { listen } = openWay();
    const streams: Response[] = [];
    let last = await listen("one");
    while (last.status === 200) {
      streams.push(last);
      last = await listen("one");
    }
    expect([last.status, last.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(streams.length).toBeGreaterThanOrEqual(1000);
    await streams.pop()?.body?.cancel();
    const again = await listen("one");
    expect(again.status).toBe(200);
    // Another client has room of its own, at the same key or at another one.
    streams.push(again, await listen("one", "192.0.2.1"), await listen("another"));
    expect(streams.slice(-2).map(({ status }) => status)).toEqual([200, 200]);
    await Promise.all(streams.map(async ({ body }) => body?.cancel()));
  });
});

test("a stop ends what only listens, and lets nobody in any more", async () => {
  const { http, listen, call } = openWay();
  const stream = await listen("one");
  await http.close(0);
  expect(await stream.text()).not.toContain("error");
  for (const key of ["one", "another"]) {
    const refused = await call(key);
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringContaining("Waypost is stopping."),
    ]);
  }
  // A stranger is not even told that.
  expect((await call("none")).status).toBe(401);
});
