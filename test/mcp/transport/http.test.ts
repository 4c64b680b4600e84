import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createConnection, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { createUsedFolder, startServe } from "../../support/command.ts";
import { connectV1, connectV2 } from "../../support/mcp-clients.ts";
import {
  answerEmpty,
  answerNever,
  holdAnswers,
  startDeployment,
  type Deployment,
} from "../../support/remote.ts";
import { expectFailure } from "./mcp-flow.ts";
import {
  openTestServer,
  type TestServer,
  type Tenant,
  listenInSession,
  listenModern,
  modernCall,
  post,
} from "../../support/mcp-http.ts";
import { openForAll } from "../../support/open-for.ts";
import { waitUntil } from "../../support/clock.ts";

/** Tests MCP over HTTP: the tools of each key, and how calls and connections end. */

let testServer: TestServer;
openForAll(openTestServer, (opened) => (testServer = opened));

function connect(era: "v1" | "modern", url: string, token: string, watches = false) {
  const given = { transport: "http", url, token, watches } as const;
  return era === "v1" ? connectV1(given) : connectV2({ ...given, era });
}

describe.concurrent("a client", () => {
  test("loses its tools and is notified if the project of its key is suspended", async () => {
    const { mcp } = testServer.serving.places;
    const [tenant, other] = [await testServer.addTenant(), await testServer.addTenant()];
    await using client = await connect("v1", mcp, tenant.key, true);
    await using neighbour = await connect("v1", mcp, other.key);
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
    expect(await neighbour.listNames()).toEqual(before);
  });

  test.each(["earlier revisions", "2026-07-28"] as const)(
    "is notified only if its own tools change (%s)",
    async (revision) => {
      await using own = await openTestServer();
      const { mcp } = own.serving.places;
      const listen = revision === "2026-07-28" ? listenModern : listenInSession;
      const [tenant, other] = [await own.addTenant(), await own.addTenant()];
      const [stream, neighbours] = [await listen(mcp, tenant.key), await listen(mcp, other.key)];
      await suspendAndAsk(mcp, tenant);
      await suspendAndAsk(mcp, other);
      await suspendAndAsk(mcp, other);
      // Ending the stream proves that no more notifications arrive.
      await own.serving.stop("SIGTERM");
      expect((await stream.text()).match(/list_changed/g)).toHaveLength(2);
      expect((await neighbours.text()).match(/list_changed/g)).toHaveLength(4);
    },
  );
});

describe.concurrent("calls", () => {
  test("that wait for a remote server do not delay other calls", async () => {
    const open = new Set<ServerResponse>();
    await using silent = await startDeployment((request, response) => {
      if (readPage(request) > 95) return answerEmpty(request, response);
      open.add(response);
      response.once("close", () => open.delete(response));
    });
    await using gateway = await openGateway(silent);
    const { places, key } = gateway.serving;
    const leaving = new AbortController();
    const ask = (page: number, more: RequestInit = {}) =>
      fetch(places.mcp, {
        method: "POST",
        ...modernCall(key, page, "list_links", { page }),
        ...more,
      }).then(({ status }) => status);

    const calls = Array.from({ length: 95 }, (_, index) =>
      ask(index + 1, { signal: leaving.signal }).catch(() => "left"),
    );
    await waitUntil(() => new Set(silent.requests.map(readPage)).size === 95);
    expect(await ask(96)).toBe(200);
    leaving.abort();
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["left"]));
    // The requests to the remote server must be aborted too.
    await waitUntil(() => open.size === 0);
  });

  test("that arrive before SIGTERM are answered before the server stops", async () => {
    const { answer, letGo } = holdAnswers();
    await using held = await startDeployment(answer);
    await using gateway = await openGateway(held);
    const { places, key, stop } = gateway.serving;
    await using client = await connect("v1", places.mcp, key, true);
    const answered = client.callTool("list_links");
    await waitUntil(() => held.requests.length > 0);
    const ended = stop("SIGTERM");
    await waitUntil(() => isClosed(places.mcp));
    letGo();
    expect((await answered).structured).toMatchObject({ links: [] });
    expect((await ended).code).toBe(0);
  });

  test("that a remote server never answers do not delay the shutdown", async () => {
    await using silent = await startDeployment(answerNever);
    await using gateway = await openGateway(silent);
    const { places, key, stop } = gateway.serving;
    await using client = await connect("modern", places.mcp, key, true);
    const answered = client.callTool("list_links").catch(() => "cut off");
    await waitUntil(() => silent.requests.length > 0);
    expect((await stop("SIGTERM")).code).toBe(0);
    await client.close();
    // If the stop had waited for the call, the client would have received an answer.
    expect(await answered).toBe("cut off");
  });
});

const head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n";

test.each([
  ["sends nothing", ""],
  ["ends in the middle of its headers", head],
  [
    "ends in the middle of its body",
    `${head}Authorization: Bearer KEY\r\nContent-Length: 99\r\n\r\n{`,
  ],
])("a connection that %s does not delay the shutdown of the server", async (_, sent) => {
  await using folder = await createUsedFolder();
  await using serving = await startServe(folder.path);
  const socket = createConnection(Number(new URL(serving.places.url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write(sent.replace("KEY", serving.key));
  const received = readToEnd(socket);
  // Ensure that the server has accepted the connection before it stops.
  await serving.call("GET", "/links");
  expect((await serving.stop("SIGTERM")).code).toBe(0);
  // If the stop had waited for the request timeout, the server would have answered.
  expect(await received).toBe("");
});

async function openGateway({ url }: Deployment) {
  const folder = await createUsedFolder();
  const env = { WAYPOST_BASE_URL: url, WAYPOST_API_KEY: "some-key", WAYPOST_PROBE: "off" };
  const serving = await startServe(folder.path, [], { env });
  return {
    serving,
    [Symbol.asyncDispose]: async () => {
      await serving.stop("SIGKILL");
      await folder[Symbol.asyncDispose]();
    },
  };
}

function readPage({ url = "" }: IncomingMessage): number {
  return Number(/page=(\d+)/.exec(url)?.[1]);
}

/** Returns whether new connections are rejected, which is the first step of a stop. */
async function isClosed(url: string): Promise<boolean> {
  return fetch(url).then(
    () => false,
    () => true,
  );
}

async function suspendAndAsk(mcp: string, { key, suspend }: Tenant): Promise<void> {
  for (const isSuspended of [true, false]) {
    await suspend(isSuspended);
    expect((await post(mcp, modernCall(key, 1, "explain_access"))).status).toBe(200);
  }
}

function readToEnd(socket: Socket): Promise<string> {
  let received = "";
  socket.on("error", () => undefined);
  socket.setEncoding("utf8").on("data", (text: string) => (received += text));
  return new Promise((resolve) => socket.once("close", () => resolve(received)));
}
