import { describe, expect, test } from "vitest";
import { createUsedFolder, startServe, type Serving } from "../../support/command.ts";
import { createGate, type Gate, waitUntil } from "../../support/clock.ts";
import { answerEmpty, startDeployment } from "../../support/remote.ts";
import {
  modernCall,
  post,
  withSession,
  callOf,
  handshake,
  startRaw,
} from "../../support/mcp-http.ts";

/** Tests a client that reuses the ID of a request that is not answered yet. */

const refusal = { code: -32600, message: expect.stringMatching(/its own id/) };

async function startHeld() {
  let gate: Gate | undefined;
  const deployment = await startDeployment(async (request, response) => {
    await gate?.opened;
    await answerEmpty(request, response);
  });
  const { url, requests } = deployment;
  return {
    env: { WAYPOST_BASE_URL: url, WAYPOST_API_KEY: "some-key", WAYPOST_PROBE: "off" },
    hold: () => (gate = createGate()),
    letGo: () => gate?.open(),
    untilAsked: (count: number) => waitUntil(() => requests.length === count),
    countAsked: () => requests.length,
    [Symbol.asyncDispose]: () => deployment[Symbol.asyncDispose](),
  };
}

/** Opens a session of an earlier revision, and returns a function that sends messages in it. */
async function openSession({ places: { mcp }, key }: Serving) {
  const opened = await post(mcp, withSession(key, undefined, handshake[0]));
  const session = String(opened.headers["mcp-session-id"]);
  const ask = (body: object) => post(mcp, withSession(key, session, body));
  await ask(handshake[1]);
  return ask;
}

/** The SDK handles the first call of a session. Later calls take the fast path. */
const ways = [
  ["through the SDK", 0],
  ["on the fast path", 2],
] as const;

describe.concurrent.each(ways)("an HTTP call %s", (_, before) => {
  test("a second request with the same ID is rejected, and the first is answered", async () => {
    await using held = await startHeld();
    await using folder = await createUsedFolder();
    await using serving = await startServe(folder.path, [], { env: held.env });
    const { mcp } = serving.places;
    const [ask, askAsOther] = [await openSession(serving), await openSession(serving)];
    for (let id = 1; id <= before; id += 1) await ask(callOf(id, "list_links"));
    held.hold();
    const first = ask(callOf(7, "list_links"));
    await held.untilAsked(before + 1);
    const second = await ask(callOf(7, "list_links"));
    expect([second.status, JSON.parse(second.text)]).toEqual([
      400,
      { jsonrpc: "2.0", id: null, error: refusal },
    ]);
    // Other methods and batches are rejected in the same way.
    expect((await ask({ jsonrpc: "2.0", id: 7, method: "tools/list" })).status).toBe(400);
    const ping = { jsonrpc: "2.0", method: "ping" };
    expect((await ask([8, 7].map((id) => ({ ...ping, id })))).status).toBe(400);
    expect((await ask([9, 9].map((id) => ({ ...ping, id })))).status).toBe(400);
    expect(held.countAsked()).toBe(before + 1);
    // Other sessions and calls of 2026-07-28 have separate IDs.
    const others = [
      ask(callOf("7", "list_links")),
      askAsOther(callOf(7, "list_links")),
      post(mcp, modernCall(serving.key, 7, "list_links")),
    ];
    held.letGo();
    for (const answer of await Promise.all([first, ...others])) {
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"links":[]')]);
    }
    // An answered request releases its ID.
    expect((await ask(callOf(7, "list_links"))).status).toBe(200);
    for (const id of [8, 9]) expect((await ask({ ...ping, id })).status).toBe(200);
  });

  test("cancelling the call ends it without a response and releases its ID", async () => {
    await using held = await startHeld();
    await using folder = await createUsedFolder();
    await using serving = await startServe(folder.path, [], { env: held.env });
    const ask = await openSession(serving);
    for (let id = 1; id <= before; id += 1) await ask(callOf(id, "list_links"));
    held.hold();
    const first = ask(callOf(7, "list_links"));
    await held.untilAsked(before + 1);
    const params = { requestId: 7 };
    expect((await ask({ jsonrpc: "2.0", method: "notifications/cancelled", params })).status).toBe(
      202,
    );
    // A cancelled request gets no answer.
    expect(await first).toMatchObject({ status: 200, text: "" });
    const next = await ask({ jsonrpc: "2.0", id: 7, method: "ping" });
    expect([next.status, next.text]).toEqual([200, expect.stringContaining('"result":{}')]);
    held.letGo();
    expect((await ask(callOf(7, "list_links"))).text).toContain('"links":[]');
  });
});

describe.concurrent.each(ways)("a stdio call %s", (_, before) => {
  test("a second request with the same ID is rejected, and the first is answered", async () => {
    await using held = await startHeld();
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path, env: held.env });
    await session.handshake();
    for (let id = 1; id <= before; id += 1) {
      session.send(callOf(id, "list_links"));
      await session.answer(id);
    }
    held.hold();
    session.send(callOf(7, "list_links"));
    await held.untilAsked(before + 1);
    const heard = await session.exchange(
      callOf(7, "list_links"),
      { jsonrpc: "2.0", id: 7, method: "tools/list" },
      { jsonrpc: "2.0", id: "7", method: "ping" },
    );
    expect(heard).toEqual([
      { jsonrpc: "2.0", id: 7, error: refusal },
      { jsonrpc: "2.0", id: 7, error: refusal },
      { jsonrpc: "2.0", id: "7", result: {} },
    ]);
    expect(held.countAsked()).toBe(before + 1);
    held.letGo();
    await waitUntil(() => session.count(7) === 3);
    session.send(callOf(7, "list_links"));
    await waitUntil(() => session.count(7) === 4);
    const answered = session.heard().filter(({ id }) => id === 7);
    const links = { structuredContent: { links: [] } };
    for (const answer of answered.slice(2)) expect(answer).toMatchObject({ result: links });
  });

  test("cancelling the call releases its ID", async () => {
    await using held = await startHeld();
    await using folder = await createUsedFolder();
    await using session = startRaw({ data: folder.path, env: held.env });
    await session.handshake();
    for (let id = 1; id <= before; id += 1) {
      session.send(callOf(id, "list_links"));
      await session.answer(id);
    }
    held.hold();
    session.send(callOf(7, "list_links"));
    await held.untilAsked(before + 1);
    const params = { requestId: 7 };
    session.send({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    session.send({ jsonrpc: "2.0", id: 7, method: "ping" });
    expect(await session.answer(7)).toMatchObject({ result: {} });
    held.letGo();
  });
});
