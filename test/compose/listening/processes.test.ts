import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { createUsedFolder, startServe } from "../../support/command.ts";
import { findFreePort, opens, startSession, visit } from "../../support/listening.ts";
import { waitUntil } from "../../support/wait-until.ts";

/** Addresses that open, whichever processes of a data folder come and go, in any order. */

const signals = ["input", "SIGTERM", "SIGKILL"] as const;

describe.concurrent("a session over stdio alone", () => {
  test("gives addresses that open, and counts their visitors", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    const { address, notes } = await session.askAddress();
    expect(address).toBe(`http://default.localhost:${port}/spring`);
    expect(notes).toEqual([]);
    expect(await visit(address)).toEqual({ status: 302, location: "https://example.com/spring" });
    expect((await session.call("get_link", { id: "spring" })).link.clicks).toBe(1);
  });

  test("listens once its list of tools was answered, and no sooner", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    const health = `http://localhost:${port}/healthz`;
    expect(await visit(health)).toBeUndefined();
    await session.listTools();
    await waitUntil(async () => (await visit(health))?.status === 200);
  });

  test("has no API and no MCP there, and no word for strangers", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    await session.askAddress();
    const own = `http://127.0.0.1:${port}`;
    for (const [path, method] of [
      ["/api/v1/links", "GET"],
      ["/mcp", "POST"],
      ["/listener/follow", "POST"],
      ["/listener/leave", "POST"],
    ] as const) {
      expect(await visit(own + path, method), path).toMatchObject({ status: 404 });
    }
  });

  test.each(signals)("leaves the port when it ends by %s", async (by) => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    const { address } = await session.askAddress();
    expect(await opens(address)).toBe(true);
    await session.stop(by);
    expect(await visit(address)).toBeUndefined();
  });

  test("waits at its end for visitors who have asked, and for no other", async () => {
    await using folder = await createUsedFolder();
    const port = await findFreePort();
    await using session = await startSession({ data: folder.path, port });
    await session.askAddress();
    const ended: string[] = [];
    const visitors = ["asks", "has opened a connection", "has begun to ask"].map((name) => {
      const socket = connect({ host: "127.0.0.1", port });
      return socket.on("error", () => undefined).once("close", () => ended.push(name));
    });
    const [asking, , beginning] = visitors;
    const head = "POST /approve/1 HTTP/1.1\r\nhost: localhost\r\n";
    // Its body never comes.
    asking?.write(`${head}expect: 100-continue\r\ncontent-length: 9\r\n\r\n`);
    beginning?.write(head);
    if (asking !== undefined) await once(asking, "data");
    await session.stop();
    await waitUntil(() => ended.length === visitors.length);
    expect(ended.at(-1)).toBe("asks");
  });
});

describe.concurrent("of two sessions over stdio", () => {
  test.each(signals)("the other takes over when the first ends by %s", async (by) => {
    await using folder = await createUsedFolder();
    const place = { data: folder.path, port: await findFreePort() };
    await using first = await startSession(place);
    const { address } = await first.askAddress();
    await using second = await startSession(place);
    expect(await second.askAddress()).toEqual({ address, notes: [] });
    await first.stop(by);
    await waitUntil(() => opens(address));
    expect(await second.askAddress()).toEqual({ address, notes: [] });
  });

  test("both give the one address where the port is left to chance", async () => {
    await using folder = await createUsedFolder();
    const place = { data: folder.path, port: 0 };
    await using first = await startSession(place);
    await using second = await startSession(place);
    await Promise.all([first.askAddress(), second.askAddress()]);
    const ask = () => Promise.all([first.askAddress(), second.askAddress()]);
    await waitUntil(async () => {
      const [one, other] = await ask();
      return one.address === other.address && (await opens(one.address));
    });
    const [{ address }] = await ask();
    // Its port is the folder's from now on.
    await first.stop();
    await waitUntil(() => opens(address));
  });
});

test("a session that does not listen has its approvals shown by the one that does", async () => {
  await using folder = await createUsedFolder();
  const place = { data: folder.path, port: await findFreePort() };
  await using first = await startSession(place);
  await first.askAddress();
  await using second = await startSession(place);
  const { error } = await second.call("delete_link", { id: "spring" });
  expect(error.approval.url).toMatch(`http://127.0.0.1:${place.port}/approve/`);
  expect(await visit(error.approval.url)).toMatchObject({ status: 200 });
  // Whoever holds the port by then shows it as well.
  await first.stop("SIGKILL");
  await waitUntil(async () => (await visit(error.approval.url))?.status === 200);
});

type Name = "serve" | "first" | "second";
const orders: readonly (readonly [start: readonly Name[], end: readonly Name[]])[] = [
  [
    ["serve", "first", "second"],
    ["serve", "first", "second"],
  ],
  [
    ["serve", "first", "second"],
    ["second", "serve", "first"],
  ],
  [
    ["first", "serve", "second"],
    ["first", "serve", "second"],
  ],
  [
    ["first", "serve", "second"],
    ["serve", "second", "first"],
  ],
  [
    ["first", "second", "serve"],
    ["first", "second", "serve"],
  ],
  [
    ["first", "second", "serve"],
    ["serve", "first", "second"],
  ],
];

describe("serve and two sessions over stdio", () => {
  test.each(
    orders.flatMap((order, index) => [
      [index % 2 === 0 ? ("SIGTERM" as const) : ("SIGKILL" as const), ...order],
    ]),
  )(
    "by %s, started in the order %j and ended in the order %j, have an address that opens",
    async (by, start, end) => {
      await using folder = await createUsedFolder();
      const place = { data: folder.path, port: await findFreePort() };
      const address = `http://default.localhost:${place.port}/spring`;
      type Process = {
        readonly stop: (by: "SIGTERM" | "SIGKILL") => Promise<unknown>;
        readonly askAddress?: () => Promise<{ readonly address: string }>;
        readonly [Symbol.asyncDispose]: () => Promise<void>;
      };
      const running = new Map<Name, Process>();
      const check = async () => {
        for (const { askAddress } of running.values()) {
          if (askAddress !== undefined) expect((await askAddress()).address).toBe(address);
        }
        await waitUntil(() => opens(address));
      };
      await using _ = {
        [Symbol.asyncDispose]: async () => {
          for (const one of running.values()) await one[Symbol.asyncDispose]();
        },
      };
      for (const name of start) {
        const started =
          name === "serve"
            ? await startServe(folder.path, ["--port", `${place.port}`])
            : await startSession(place);
        running.set(name, started);
        // The link is there once a session was; before that, serve has nothing to show.
        if (running.size > 1 || name !== "serve") await check();
      }
      for (const name of end) {
        await running.get(name)?.stop(by);
        running.delete(name);
        if (running.size > 0) await check();
      }
      expect(await visit(address)).toBeUndefined();
    },
  );

  test("elsewhere: all tell where serve is, and the session's own port is left", async () => {
    await using folder = await createUsedFolder();
    const place = { data: folder.path, port: await findFreePort() };
    await using session = await startSession(place);
    const { address } = await session.askAddress();
    await using serving = await startServe(folder.path);
    const served = `${serving.places.links.replace("{subdomain}", "default")}/spring`;
    await waitUntil(async () => (await session.askAddress()).address === served);
    expect(await opens(served)).toBe(true);
    expect(await visit(address)).toBeUndefined();
    await serving.stop("SIGKILL");
    await waitUntil(() => opens(address));
    expect(await session.askAddress()).toEqual({ address, notes: [] });
  });
});
