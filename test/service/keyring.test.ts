import { describe, expect, test } from "vitest";
import { createKeyring } from "../../src/service/keyring.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { deleteKey, listKeys } from "../../src/store/keys.ts";
import type { Tables } from "../../src/store/tables.ts";
import { createGate } from "../support/gate.ts";
import { createWorld, type World } from "../support/world.ts";

/** How long a key may be remembered after it was revoked. */

describe("a key that was just used", () => {
  test("ends at once when this process revokes it", async () => {
    await using world = await createWorld();
    const key = await world.addKey({ role: "viewer" });
    expect((await world.call("GET", "/links", { key })).status).toBe(200);
    await world.store.write(async (db) => deleteKey(db, await findViewer(db)));
    expect((await world.call("GET", "/links", { key })).status).toBe(401);
  });

  test("ends within a second when another process revokes it", async () => {
    await using world = await createWorld();
    const key = await world.addKey({ role: "viewer" });
    expect((await world.call("GET", "/links", { key })).status).toBe(200);
    await revokeElsewhere(world);
    world.advance(999);
    expect((await world.call("GET", "/links", { key })).status).toBe(401);
  });

  test("still counts while nobody wrote anything, however long that is", async () => {
    await using world = await createWorld();
    for (const pause of [0, 100, 1000, 3_600_000]) {
      world.advance(pause);
      expect((await world.call("GET", "/links")).status).toBe(200);
    }
  });
});

test("a key that is revoked while its row is on the way is not remembered", async () => {
  await using world = await createWorld();
  const token = await world.addKey({ role: "viewer" });
  const [read, answer] = [createGate(), createGate()];
  let answers = 0;
  // The first answer of the store is held back when it has been read.
  const db = world.store.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      answers += 1;
      if (answers === 1) {
        read.open();
        await answer.opened;
      }
      return result;
    },
  });
  const keyring = createKeyring({ ...world.store, db }, world.clock);
  const first = keyring.find(token);
  await read.opened;
  await world.store.write(async (inner) => deleteKey(inner, await findViewer(inner)));
  expect(await keyring.find(token)).toBeUndefined();
  answer.open();
  // This one was answered before the key was revoked.
  expect(await first).toMatchObject({ role: "viewer" });
  expect(await keyring.find(token)).toBeUndefined();
});

async function revokeElsewhere({ file }: World): Promise<void> {
  const other = await openSqlite<Tables>(file, { applicationId: 0x57415950 });
  await other.write(async (db) => deleteKey(db, await findViewer(db)));
  await other.close();
}

async function findViewer(db: World["store"]["db"]): Promise<string> {
  return (await listKeys(db)).find((key) => key.role === "viewer")?.id ?? "";
}
