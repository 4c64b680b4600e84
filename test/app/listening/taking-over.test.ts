import { describe, expect, test } from "vitest";
import {
  createDataFolder,
  isServed,
  openServing,
  openSession,
  type Listener,
} from "./listeners.ts";
import { findFreePort } from "../../support/ports.ts";
import { waitUntil } from "../../support/clock.ts";

/** One address stays served, in any order in which processes of a data folder start and end. */

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

describe.concurrent("a URL shared by waypost serve and two stdio sessions", () => {
  test.each(orders)(
    "keeps working until the last process stops (start order: %j, stop order: %j)",
    async (start, end) => {
      await using folder = await createDataFolder();
      const place = { data: folder.path, port: await findFreePort() };
      const url = `http://127.0.0.1:${place.port}`;
      const running = new Map<Name, Listener>();
      await using _ = {
        [Symbol.asyncDispose]: async () => {
          for (const listener of running.values()) await listener.close();
        },
      };
      const check = async () => {
        for (const listener of running.values()) expect(await listener.read()).toBe(url);
        await waitUntil(() => isServed(url));
      };
      for (const name of start) {
        running.set(name, name === "serve" ? await openServing(place) : openSession(place));
        await check();
      }
      for (const name of end) {
        await running.get(name)?.close();
        running.delete(name);
        if (running.size > 0) await check();
      }
      expect(await isServed(url)).toBe(false);
    },
  );
});

test("a gateway does not take over the port of a stdio process that serves links", async () => {
  await using folder = await createDataFolder();
  const place = { data: folder.path, port: await findFreePort() };
  const url = `http://127.0.0.1:${place.port}`;
  await using session = openSession(place);
  expect(await session.read()).toBe(url);
  const gateway = openServing({ ...place, env: { WAYPOST_BASE_URL: "https://links.example.com" } });
  await expect(gateway).rejects.toThrow(`port ${place.port} on 127.0.0.1 is in use`);
  expect(await session.read()).toBe(url);
});
