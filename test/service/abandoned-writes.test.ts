import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import { expect, test } from "vitest";
import { sendEmbedded } from "../../src/client/send-once.ts";
import { apiPrefix } from "../../src/contract/index.ts";
import { answerOverHttp } from "../../src/service/http.ts";
import { createService } from "../support/api-description.ts";
import { serveApi, createWorld, readLinkOrigin } from "../support/world.ts";
import { createGate } from "../support/clock.ts";

/** Tests requests whose client disconnects before the write starts. */

const body = JSON.stringify({ path: "never" });

test("a queued write is not run if its client disconnects", async () => {
  await using held = await holdWrites();
  const { server, port } = await serveApi(answerOverHttp(held.answer, held.clock));
  const connected = once(server, "connection");
  const path = `${apiPrefix}/links`;
  const sent = request({ port, path, method: "POST", headers: held.headers }).end(body);
  sent.on("error", () => undefined);
  const [socket] = await connected;
  await held.queued;
  sent.destroy();
  await once(socket, "close");
  expect(await held.countAfter()).toBe(0);
  server.close();
});

test("a queued write is not run if its in-process caller cancels the request", async () => {
  await using held = await holdWrites();
  const cancelling = new AbortController();
  const url = `http://localhost${apiPrefix}/links`;
  const given = { method: "POST", url, headers: held.headers, body };
  const sent = sendEmbedded(held.answer)(given, cancelling.signal);
  await held.queued;
  cancelling.abort();
  expect(await held.countAfter()).toBe(0);
  expect((await sent).status).toBe(503);
});

const report = () => expect.fail("nothing is unexpected");

/** Opens a service whose writes wait behind a blocked write. */
async function holdWrites() {
  const world = await createWorld();
  const { store, clock, setAlarm, key } = world;
  const [queued, held] = [createGate(), createGate()];
  const earlier = store.write(() => held.opened);
  const write: typeof store.write = (work, options) => {
    const written = store.write(work, options);
    queued.open();
    return written;
  };
  const random = { bytes: randomBytes };
  const options = { clock, random, setAlarm, readLinkOrigin, report };
  const { answer } = createService({ ...options, store: { ...store, write } });
  return {
    answer,
    clock,
    headers: { authorization: `Token ${key}`, "content-type": "application/json" },
    queued: queued.opened,
    countAfter: async (): Promise<number> => {
      held.open();
      await earlier;
      // This write runs only after all earlier writes.
      await store.write(() => Promise.resolve());
      return (await world.call("GET", "/links")).body.meta.count;
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
