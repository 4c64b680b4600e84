import { once } from "node:events";
import { createConnection } from "node:net";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFolder, startServe } from "../support/command.ts";
import { connectV1, connectV2 } from "../support/mcp-clients.ts";
import {
  answerNever,
  answerSlowly,
  startDeployment,
  type Deployment,
} from "../support/mcp-deployment.ts";
import { expectFailure } from "../support/mcp-flow.ts";
import { openGround, waitUntil, type Ground } from "../support/mcp-ground.ts";
import { modernCall } from "../support/mcp-post.ts";

/** MCP over HTTP: what each key sees, how many calls it may have at once, and how it all ends. */

const eras = ["v1", "legacy", "modern"] as const;

let ground: Ground;
beforeAll(async () => {
  ground = await openGround();
});
afterAll(() => ground[Symbol.asyncDispose]());

function connect(era: (typeof eras)[number], url: string, token: string, watches = false) {
  const given = { transport: "http", url, token, watches } as const;
  return era === "v1" ? connectV1(given) : connectV2({ ...given, era });
}

describe.concurrent("each key", () => {
  test.each(eras)("sees its own tools (%s)", async (era) => {
    const { mcp } = ground.serving.places;
    const looker = await ground.addTenant({ scopes: ["links.index", "links.show"] });
    const owner = await ground.addTenant();
    await using looking = await connect(era, mcp, looker.key);
    await using owning = await connect(era, mcp, owner.key);
    expect(await owning.listNames()).toContain("delete_link");
    expect((await looking.listNames()).toSorted()).toEqual([
      "explain_access",
      "explain_link",
      "export_links",
      "get_link",
      "list_links",
      "resolve_short_link",
    ]);
    await expectFailure(looking, "create_link", {}, "scope_missing");
    expect((await owning.callTool("create_link", { path: "own" })).isError).toBe(false);
    expect((await looking.callTool("list_links")).structured.links).toEqual([]);
  });

  test.each(eras)("loses what it may not do any more, and is told (%s)", async (era) => {
    const { mcp } = ground.serving.places;
    const [tenant, other] = [await ground.addTenant(), await ground.addTenant()];
    await using client = await connect(era, mcp, tenant.key, true);
    await using neighbour = await connect(era, mcp, other.key, true);
    const before = await client.listNames();
    expect(before).toContain("list_links");
    await tenant.suspend(true);
    await expectFailure(client, "list_links", {}, "account_suspended");
    await client.untilChanged(1);
    expect((await client.listNames()).toSorted()).toEqual(["explain_access", "resolve_short_link"]);
    await tenant.suspend(false);
    await client.callTool("explain_access");
    await client.untilChanged(2);
    expect(await client.listNames()).toEqual(before);
    // It is nobody else's news.
    expect(await neighbour.listNames()).toEqual(before);
    const heard = neighbour.untilChanged(1).then(() => "heard");
    expect(await Promise.race([heard, setTimeout(100, "silence")])).toBe("silence");
  });
});

describe.concurrent("calls", () => {
  test("of one key are a hundred at once; one more is told to wait", async () => {
    await using silent = await startDeployment(answerNever);
    await using gateway = await openGateway(silent);
    const { places, key } = gateway.serving;
    const leaving = new AbortController();
    const { headers, body } = modernCall(key, 1, "list_links");
    const ask = async (signal: AbortSignal) => {
      const request = { method: "POST", headers, body, signal };
      return fetch(places.mcp, request).then(
        (response) => `${response.status}, after ${response.headers.get("retry-after")} s`,
        () => "taken",
      );
    };
    const askBriefly = () => ask(AbortSignal.timeout(300));
    const calls = Array.from({ length: 100 }, () => ask(leaving.signal));
    await waitUntil(async () => (await askBriefly()) === "503, after 1 s");
    leaving.abort();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["taken"]));
    // Those that left have made room.
    await waitUntil(async () => (await askBriefly()) === "taken");
  });

  test.each(eras)("that run are answered when a stop is asked for (%s)", async (era) => {
    await using slow = await startDeployment(answerSlowly);
    await using gateway = await openGateway(slow);
    const { places, key, stop } = gateway.serving;
    await using client = await connect(era, places.mcp, key, true);
    const answered = client.callTool("list_links");
    await waitUntil(() => slow.requests.length > 0);
    const ended = stop("SIGTERM");
    expect((await answered).structured).toMatchObject({ links: [] });
    expect((await ended).code).toBe(0);
  });

  test.each(eras)(
    "that are never answered, and who only listens, hold up no stop (%s)",
    async (era) => {
      await using silent = await startDeployment(answerNever);
      await using gateway = await openGateway(silent);
      const { places, key, stop } = gateway.serving;
      await using client = await connect(era, places.mcp, key, true);
      const answered = client.callTool("list_links").catch(() => "cut off");
      await waitUntil(() => silent.requests.length > 0);
      // The limit is two seconds; a loaded machine may take a little longer to notice.
      const ended = await Promise.race([stop("SIGTERM"), setTimeout(4000, { code: "late" })]);
      expect(ended.code).toBe(0);
      await client.close();
      expect(await answered).toBe("cut off");
    },
  );
});

test.each([
  ["says nothing", ""],
  ["stopped in its headers", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"],
  ["stopped in its body", "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"],
])("a connection that %s holds up no stop", async (_, sent) => {
  await using folder = await createFolder();
  await using serving = await startServe(folder.path);
  const socket = createConnection(Number(new URL(serving.places.url).port), "127.0.0.1");
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(sent);
  // It has to be there before the stop is.
  await serving.call("GET", "/links");
  const ended = await Promise.race([serving.stop("SIGTERM"), setTimeout(4000, { code: "late" })]);
  expect(ended.code).toBe(0);
  socket.destroy();
});

async function openGateway({ url }: Deployment) {
  const folder = await createFolder();
  const env = { WAYPOST_BASE_URL: url, WAYPOST_API_KEY: "some-key" };
  const serving = await startServe(folder.path, [], { env });
  return {
    serving,
    [Symbol.asyncDispose]: async () => {
      await serving.stop("SIGKILL");
      await folder[Symbol.asyncDispose]();
    },
  };
}
