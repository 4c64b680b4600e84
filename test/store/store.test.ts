import { setImmediate } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ListQuery } from "../../src/contract/filters.ts";
import { listBin } from "../../src/store/bin.ts";
import { claimAddress, deleteLink, findLink, updateLink } from "../../src/store/links.ts";
import { listLinks } from "../../src/store/link-lists.ts";
import { readTally } from "../../src/store/projects.ts";
import { openStore, StoreBusy, type Store } from "../../src/store/store.ts";
import type { Tenant } from "../../src/store/tables.ts";
import { neverRing } from "../support/clock.ts";
import { openForAll } from "../support/open-for.ts";
import {
  addLink,
  addProject,
  createCaller,
  makeId,
  now,
  restoreDeleted,
  staying,
} from "../support/rows.ts";
import { createWorld } from "../support/world.ts";

/** Tests the guarantees of a store that two processes use. */

let store: Store;
let other: Store;

openForAll(createWorld, async (world, keep) => {
  store = world.store;
  other = keep(await openStore(await world.openSql(), neverRing));
});

test("a write whose caller disconnected while it was queued does not run", async () => {
  const projectId = await addProject(store);
  const { signal, leave } = createCaller();
  const first = store.write(() => setImmediate());
  const second = store.write((db) => addLink({ db, projectId }, "late"), { signal });
  const third = store.write((db) => addLink({ db, projectId }, "next"));
  leave();
  await expect(second).rejects.toBeInstanceOf(StoreBusy);
  await Promise.all([first, third]);
  expect(await readTally({ db: store.db, projectId })).toMatchObject({ links: 1 });
});

describe("claimAddress", () => {
  test("assigns a path to only one of several concurrent callers", async () => {
    const projectId = await addProject(store);
    for (let turn = 0; turn < 20; turn += 1) {
      const claims = [store, other, store].map(({ write }, index) =>
        write((db) => claimAddress({ db, projectId }, `spring-${turn}`, `link-${index}`)),
      );
      const answers = await Promise.all(claims);
      expect(answers.filter(Boolean)).toHaveLength(1);
    }
  });

  test("is case-sensitive and lets two projects use the same path", async () => {
    const [one, two] = [await addProject(store), await addProject(store)];
    const claims: [string, string][] = [
      [one, "Spring"],
      [one, "spring"],
      [two, "spring"],
      [one, "spring"],
    ];
    const answers: boolean[] = [];
    for (const [projectId, address] of claims) {
      answers.push(await store.write((db) => claimAddress({ db, projectId }, address, "link")));
    }
    expect(answers).toEqual([true, true, true, false]);
  });
});

type Step =
  | { readonly act: "insert"; readonly isShortened: boolean }
  | { readonly act: "rename" | "move" | "shorten" | "delete" | "restore"; readonly at: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ act: fc.constant("insert" as const), isShortened: fc.boolean() }),
  fc.record({
    act: fc.constantFrom("rename", "move", "shorten", "delete", "restore"),
    at: fc.nat(5),
  }),
);

describe("the store", () => {
  test("keeps the link count and paths consistent after any series of writes", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const projectId = await addProject(store);
        for (const [turn, one] of steps.entries()) {
          const writer = turn % 2 === 0 ? store : other;
          const before = await readTally({ db: store.db, projectId });
          const isWritten = await writer.write((db) => take({ db, projectId }, one, turn));
          const after = await readTally({ db: other.db, projectId });
          expect(after.generation - before.generation).toBe(isWritten ? 1 : 0);
        }
        await expectConsistent({ db: store.db, projectId });
      }),
      { numRuns: 25 },
    );
  });

  test("caches a filtered link count until any process writes", async () => {
    const projectId = await addProject(store);
    const id = await store.write((db) => addLink({ db, projectId }, "spring-1"));
    await store.write((db) => addLink({ db, projectId }, "spring-2"));
    const filter = { field: "path", kind: "path", condition: "start", value: "spring" } as const;
    const query = { ...everything, filters: [{ join: "and" as const, tests: [filter] }] };
    const list = (by: Store) => listLinks({ db: by.db, projectId }, by, query, staying);
    expect((await list(store)).meta.count).toBe(2);
    // Delete a row without updating the stored link count, so that the cached count stays valid.
    await other.write((db) => db.deleteFrom("links").where("id", "=", id).execute());
    expect((await list(store)).meta.count).toBe(2);
    await other.write((db) => addLink({ db, projectId }, "spring-3"));
    await other.write((db) => addLink({ db, projectId }, "spring-4"));
    expect((await list(store)).meta.count).toBe(3);
  });
});

const everything: ListQuery = { page: 1, limit: 20, filters: [], sorts: [] };

/** Runs a random step. Returns false if there was nothing to write. */
async function take(tenant: Tenant, wanted: Step, turn: number): Promise<boolean> {
  if (wanted.act === "insert") {
    const shortened = wanted.isShortened ? { shortened_path: `s${turn}` } : {};
    await addLink(tenant, `path-${turn}`, shortened);
    return true;
  }
  if (wanted.act === "restore") {
    const [entry] = await listBin(tenant, now, { offset: wanted.at, limit: 1 });
    const restored = entry && (await restoreDeleted(tenant, entry.id));
    return restored !== undefined && "restored" in restored;
  }
  const { db, projectId } = tenant;
  const rows = db.selectFrom("links").select("id").where("project_id", "=", projectId);
  const id = (await rows.orderBy("id").execute())[wanted.at]?.id ?? makeId();
  if (wanted.act === "delete") return deleteLink(tenant, id, now);
  const link = await findLink(tenant, id);
  if (link === undefined) return false;
  if (wanted.act === "rename") {
    await updateLink(tenant, link, { name: `n${turn}` }, now);
    return true;
  }
  if (wanted.act === "shorten" && link.shortened_path !== null) return false;
  const address = `${wanted.act}-${turn}`;
  expect(await claimAddress(tenant, address, id)).toBe(true);
  const field = wanted.act === "move" ? "path" : "shortened_path";
  await updateLink(tenant, link, { [field]: address }, now);
  return true;
}

/** Checks that each link has its path, and that the stored link count is right. */
async function expectConsistent({ db, projectId }: Tenant): Promise<void> {
  const isOwn = ({ project_id }: { readonly project_id: string }) => project_id === projectId;
  const links = (await db.selectFrom("links").selectAll().execute()).filter(isOwn);
  const addresses = (await db.selectFrom("addresses").selectAll().execute()).filter(isOwn);
  const expected = links.flatMap(({ id, path, shortened_path }) =>
    [path, shortened_path].flatMap((address) => (address === null ? [] : `${address} ${id}`)),
  );
  const claimed = addresses.map(({ address, link_id }) => `${address} ${link_id}`);
  expect(new Set(claimed)).toEqual(new Set(expected));
  expect((await readTally({ db, projectId })).links).toBe(links.length);
}
