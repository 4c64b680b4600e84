import { describe, expect, test } from "vitest";
import { createFolder, startServe } from "../../support/command.ts";
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

/** Two requests of one client with one id, the second before the first is answered. */

const refusal = { code: -32600, message: expect.stringMatching(/its own id/) };

/** A deployment without links, which can be held up. */
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
    /** Until it was asked so often. */
    untilAsked: (count: number) => waitUntil(() => requests.length === count),
    countAsked: () => requests.length,
    [Symbol.asyncDispose]: () => deployment[Symbol.asyncDispose](),
  };
}

/** A call may take a shorter way once the SDK has let one like it through. */
const ways = [
  ["that the SDK answers", 0],
  ["that goes to its tool at once", 2],
] as const;

describe.concurrent.each(ways)("in a session over HTTP, of a call %s", (_, before) => {
  test("the second is refused and does nothing, and the first is answered", async () => {
    await using held = await startHeld();
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, [], { env: held.env });
    const { mcp } = serving.places;
    const open = async () => {
      const opened = await post(mcp, withSession(serving.key, undefined, handshake[0]));
      const session = String(opened.headers["mcp-session-id"]);
      await post(mcp, withSession(serving.key, session, handshake[1]));
      return (body: object) => post(mcp, withSession(serving.key, session, body));
    };
    const [ask, askElsewhere] = [await open(), await open()];
    for (let id = 1; id <= before; id += 1) await ask(callOf(id, "list_links"));
    held.hold();
    const first = ask(callOf(7, "list_links"));
    await held.untilAsked(before + 1);
    const second = await ask(callOf(7, "list_links"));
    expect([second.status, JSON.parse(second.text)]).toEqual([
      400,
      { jsonrpc: "2.0", id: null, error: refusal },
    ]);
    // Neither what is no call, nor one of several.
    expect((await ask({ jsonrpc: "2.0", id: 7, method: "tools/list" })).status).toBe(400);
    const ping = { jsonrpc: "2.0", method: "ping" };
    expect((await ask([8, 7].map((id) => ({ ...ping, id })))).status).toBe(400);
    expect((await ask([9, 9].map((id) => ({ ...ping, id })))).status).toBe(400);
    expect(held.countAsked()).toBe(before + 1);
    // Another session has ids of its own, and so has every call of the later revision.
    const others = [
      ask(callOf("7", "list_links")),
      askElsewhere(callOf(7, "list_links")),
      post(mcp, modernCall(serving.key, 7, "list_links")),
    ];
    held.letGo();
    for (const answer of await Promise.all([first, ...others])) {
      expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"links":[]')]);
    }
    // What is answered leaves its id.
    expect((await ask(callOf(7, "list_links"))).status).toBe(200);
    for (const id of [8, 9]) expect((await ask({ ...ping, id })).status).toBe(200);
  });
});

describe.concurrent.each(ways)("in a session over HTTP, of a call %s", (_, before) => {
  test("one that was given up ends, and leaves its id to the next", async () => {
    await using held = await startHeld();
    await using folder = await createFolder();
    await using serving = await startServe(folder.path, [], { env: held.env });
    const { mcp } = serving.places;
    const opened = await post(mcp, withSession(serving.key, undefined, handshake[0]));
    const session = String(opened.headers["mcp-session-id"]);
    const ask = (body: object) => post(mcp, withSession(serving.key, session, body));
    await ask(handshake[1]);
    for (let id = 1; id <= before; id += 1) await ask(callOf(id, "list_links"));
    held.hold();
    const first = ask(callOf(7, "list_links"));
    await held.untilAsked(before + 1);
    const params = { requestId: 7 };
    expect((await ask({ jsonrpc: "2.0", method: "notifications/cancelled", params })).status).toBe(
      202,
    );
    // Though nothing has answered it.
    expect(await first).toMatchObject({ status: 200, text: "" });
    const next = await ask({ jsonrpc: "2.0", id: 7, method: "ping" });
    expect([next.status, next.text]).toEqual([200, expect.stringContaining('"result":{}')]);
    held.letGo();
    expect((await ask(callOf(7, "list_links"))).text).toContain('"links":[]');
  });
});

describe.concurrent.each(ways)("over stdio, of a call %s", (_, before) => {
  test("the second is refused and does nothing, and the first is answered", async () => {
    await using held = await startHeld();
    await using folder = await createFolder();
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
    // What is answered leaves its id.
    session.send(callOf(7, "list_links"));
    await waitUntil(() => session.count(7) === 4);
    const answered = session.heard().filter(({ id }) => id === 7);
    const links = { structuredContent: { links: [] } };
    for (const answer of answered.slice(2)) expect(answer).toMatchObject({ result: links });
  });

  test("one that was given up leaves its id to the next", async () => {
    await using held = await startHeld();
    await using folder = await createFolder();
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
