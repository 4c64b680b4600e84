import type { KyselyPlugin } from "kysely";
import { describe, expect, test } from "vitest";
import { random } from "../../src/app/process/embedded.ts";
import { createKeyCache } from "../../src/service/keys.ts";
import { deleteKey, listKeys } from "../../src/store/keys.ts";
import { createGate, waitUntil } from "../support/clock.ts";
import { createWorld, type World } from "../support/world.ts";
import { openForEach } from "../support/open-for.ts";

/** Tests how long the key cache may still accept a revoked key. */

let world: World;
openForEach(createWorld, (opened) => (world = opened));

describe("a key that was just used", () => {
  test("is rejected immediately when the same process revokes it", async () => {
    const key = await world.addKey({ role: "viewer" });
    expect((await world.call("GET", "/links", { key })).status).toBe(200);
    await world.store.write(async (db) => deleteKey(db, await findViewer(db)));
    expect((await world.call("GET", "/links", { key })).status).toBe(401);
  });

  test("is rejected within a second when another process revokes it", async () => {
    const key = await world.addKey({ role: "viewer" });
    expect((await world.call("GET", "/links", { key })).status).toBe(200);
    await revokeInOtherProcess(world);
    world.advance(999);
    expect((await world.call("GET", "/links", { key })).status).toBe(401);
  });

  test("is still accepted after an hour without writes to the database", async () => {
    for (const pause of [0, 100, 1000, 3_600_000]) {
      world.advance(pause);
      expect((await world.call("GET", "/links")).status).toBe(200);
    }
  });
});

describe("a temporary token for a key", () => {
  test("has the key's permissions in one process only, until the key is revoked", async () => {
    await world.addKey({ role: "viewer" });
    const id = await findViewer(world.store.db);
    const keyCache = createKeyCache(world.store, world.clock);
    const token = keyCache.lendToken(id, random);
    expect(keyCache.lendToken(id, random)).toBe(token);
    expect(await keyCache.find(token)).toMatchObject({ key_id: id, role: "viewer" });
    expect(await createKeyCache(world.store, world.clock).find(token)).toBeUndefined();
    await world.store.write((db) => deleteKey(db, id));
    expect(await keyCache.find(token)).toBeUndefined();
  });
});

describe("a key lookup", () => {
  test("does not cache a key that is revoked while the lookup runs", async () => {
    const key = await world.addKey({ role: "viewer" });
    const [read, answer] = [createGate(), createGate()];
    // Delay the store's first result until the key is revoked.
    const { keyCache, count } = watchLookUps(world, async () => {
      if (count() > 1) return;
      read.open();
      await answer.opened;
    });
    const before = keyCache.find(key);
    await read.opened;
    await world.store.write(async (db) => deleteKey(db, await findViewer(db)));
    expect(await keyCache.find(key)).toBeUndefined();
    answer.open();
    // The first lookup read the key before it was revoked.
    expect(await before).toMatchObject({ role: "viewer" });
    expect(await keyCache.find(key)).toBeUndefined();
  });

  test("is shared by concurrent requests, even while other keys are created", async () => {
    const key = await world.addKey({ role: "viewer" });
    const answer = createGate();
    const { keyCache, count } = watchLookUps(world, () => answer.opened);
    const found: unknown[] = [];
    for (const made of [1, 2, 3, 4]) {
      const asking = Array.from({ length: 10 }, async () => keyCache.find(key));
      found.push(...asking);
      await waitUntil(() => count() >= made);
      await world.addKey();
    }
    answer.open();
    expect(new Set((await Promise.all(found)).map((holder) => JSON.stringify(holder))).size).toBe(
      1,
    );
    // PostgreSQL announces a change when it begins and when it ends, so 40 lookups need at most 8.
    expect(count()).toBeLessThanOrEqual(8);
  });

  test("is retried on the next request after a store error", async () => {
    const key = await world.addKey({ role: "viewer" });
    const hung = createGate();
    const { keyCache, count } = watchLookUps(world, async () => {
      if (count() === 1) await hung.opened;
      if (count() === 2) throw new Error("away");
    });
    const first = keyCache.find(key);
    await waitUntil(() => count() === 1);
    await world.addKey();
    await expect(keyCache.find(key)).rejects.toThrow("away");
    expect(await keyCache.find(key)).toMatchObject({ role: "viewer" });
    hung.open();
    expect(await first).toMatchObject({ role: "viewer" });
  });

  test("reads each key only once and caches up to 1,000 keys", async () => {
    const keys: string[] = [];
    for (let turn = 0; turn < 1001; turn += 1) keys.push(await world.addKey());
    const { keyCache, count } = watchLookUps(world, () => Promise.resolve());
    const thousand = keys.slice(0, 1000);
    for (const key of [...thousand, ...thousand]) await keyCache.find(key);
    expect(count()).toBe(1000);
    for (const key of [...keys, ...keys]) await keyCache.find(key);
    expect(count()).toBeGreaterThan(1001);
  });
});

/** A separate cache that counts its lookups and delays each of them. */
function watchLookUps({ store, clock }: World, wait: () => Promise<void>) {
  let made = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      made += 1;
      await wait();
      return result;
    },
  };
  const keyCache = createKeyCache({ ...store, db: store.db.withPlugin(plugin) }, clock);
  return { keyCache, count: () => made };
}

async function revokeInOtherProcess({ openSql }: World): Promise<void> {
  const other = await openSql();
  await other.write(async (db) => deleteKey(db, await findViewer(db)));
  await other.close();
}

async function findViewer(db: World["store"]["db"]): Promise<string> {
  return (await listKeys(db)).find((key) => key.role === "viewer")?.id ?? "";
}
