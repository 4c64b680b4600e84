import { describe, expect, test } from "vitest";
import { openMcp } from "../../support/open-mcp.ts";

/** How many keys, streams and sessions `/mcp` stores, and how they end when the server stops. */

test("if a 1,001st key connects, the least recently used idle key is disconnected", async () => {
  const { knock, listen, countMade } = openMcp();
  const stream = await listen("listener");
  for (let key = 1; key <= 999; key += 1) await knock(`key-${key}`);
  await knock("key-1");
  await knock("key-1000");
  // A dropped key would have to be opened again.
  for (const key of ["listener", "key-1", "key-3", "key-999"]) {
    await knock(key);
    expect([key, countMade(key)]).toEqual([key, 1]);
  }
  await knock("key-2");
  expect(countMade("key-2")).toBe(2);
  await stream.body?.cancel();
});

describe("a listening client", () => {
  test("is rejected while its key has the maximum number of listening clients", async () => {
    const { listen } = openMcp();
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
    // The limit applies to each key separately.
    streams.push(again, await listen("another"));
    expect(streams.at(-1)?.status).toBe(200);
    await Promise.all(streams.map(async ({ body }) => body?.cancel()));
  });
});

test("a stopping server first disconnects listening clients, then rejects calls", async () => {
  const { http, listen, call, openSession } = openMcp();
  const [stream, session] = [await listen("one"), await openSession("one")];
  http.endListening();
  expect(await stream.text()).not.toContain("error");
  const late = await listen("one");
  expect([late.status, await late.text()]).toEqual([
    503,
    expect.stringContaining("Waypost is stopping."),
  ]);
  expect((await call("one")).status).toBe(200);
  expect((await session.call(1)).status).toBe(200);
  await http.close();
  for (const key of ["one", "another"]) {
    const refused = await call(key);
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.stringContaining("Waypost is stopping."),
    ]);
  }
  // A client without a key does not learn that the server is stopping.
  expect((await call("none")).status).toBe(401);
});
