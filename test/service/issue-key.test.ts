import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { random } from "../../src/app/process/embedded.ts";
import { issueKey } from "../../src/service/keys.ts";
import { listKeys } from "../../src/store/keys.ts";
import { Duplicate } from "../../src/store/store.ts";
import { createWorld } from "../support/world.ts";

/** Tests creating keys. */

test("three concurrent calls to issueKey with the same ID create one key", async () => {
  await using world = await createWorld();
  const { store, clock } = world;
  const id = randomUUID();
  const wanted = { id, project_id: null, scopes: [], role: "owner" } as const;
  const make = () => store.write((db) => issueKey(db, { clock, random }, wanted));
  const made = await Promise.allSettled([make(), make(), make()]);
  const refused = made.filter(({ status }) => status === "rejected");
  expect(made.map(({ status }) => status).toSorted()).toEqual([
    "fulfilled",
    "rejected",
    "rejected",
  ]);
  for (const each of refused) expect(each).toMatchObject({ reason: expect.any(Duplicate) });
  expect((await listKeys(store.db)).filter((key) => key.id === id)).toHaveLength(1);
});

test("a token created by issueKey is not stored in the database", async () => {
  await using world = await createWorld();
  const { store, clock } = world;
  const wanted = { project_id: null, scopes: [], role: "owner" } as const;
  const { id, token } = await store.write((db) => issueKey(db, { clock, random }, wanted));
  const rows = JSON.stringify(await store.db.selectFrom("api_keys").selectAll().execute());
  expect(rows).toContain(id);
  expect(rows).not.toContain(token);
});
