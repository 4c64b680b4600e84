import { describe, expect, test } from "vitest";
import { iosAppStore } from "../../src/store/apps.ts";
import { countBin, findInBin, listBin } from "../../src/store/bin.ts";
import { addClicks } from "../../src/store/clicks.ts";
import {
  claimAddress,
  deleteLink,
  findLink,
  restoreLink,
  type DeletedLink,
} from "../../src/store/links.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tenant } from "../../src/store/tables.ts";
import { addLink, addProject, makeId, now } from "../support/rows.ts";

/** The part of the store's contract that is about what was deleted. */

type Both = () => { readonly store: Store; readonly other: Store };

const firstPage = { offset: 0, limit: 10 };
const values = {
  name: "App",
  bundle_id: "com.example",
  team_id: "ABCDE12345",
  app_store_id: null,
  clip_bundle_id: null,
  custom_scheme: null,
};

export function describeBin(both: Both): void {
  describe("a bin", () => {
    describeKeeping(both);
    describeReturning(both);
  });
}

function describeKeeping(both: Both): void {
  test("keeps the whole row, for every process and for its own project alone", async () => {
    const { store, other } = both();
    const [projectId, foreign] = [await addProject(store), await addProject(store)];
    const id = await store.write((db) =>
      addLink({ db, projectId }, "spring", { shortened_path: "s", name: "Spring" }),
    );
    const query = store.db.selectFrom("links").selectAll().where("id", "=", id);
    const { rowkey: _, project_id: __, ...row } = await query.executeTakeFirstOrThrow();
    await store.write((db) => deleteLink({ db, projectId }, id, now));
    const tenant = { db: other.db, projectId };
    expect(await findInBin(tenant, "link", id, now)).toEqual({ id, row, clicks: 0 });
    expect(await listBin(tenant, now, firstPage)).toMatchObject([
      { kind: "link", id, deleted_at: now, row: { path: "spring" } },
    ]);
    const stranger = { db: other.db, projectId: foreign };
    expect(await findInBin(stranger, "link", id, now)).toBeUndefined();
    expect(await findInBin(tenant, "ios_app", id, now)).toBeUndefined();
    expect([await countBin(tenant, now), await countBin(stranger, now)]).toEqual([1, 0]);
    expect(await listBin(stranger, now, firstPage)).toEqual([]);
  });

  test("lists the latest first, page by page", async () => {
    const { store } = both();
    const projectId = await addProject(store);
    const ids: string[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const id = await store.write((db) => addLink({ db, projectId }, `p${turn}`));
      await store.write((db) => deleteLink({ db, projectId }, id, now + turn));
      ids.unshift(id);
    }
    const read = async (offset: number) => {
      const page = await listBin({ db: store.db, projectId }, now + 3, { offset, limit: 2 });
      return page.map((entry) => entry.id);
    };
    expect([await read(0), await read(2)]).toEqual([ids.slice(0, 2), ids.slice(2)]);
    const tenant = { db: store.db, projectId };
    const ofApps = { kinds: ["ios_app", "android_app"] } as const;
    expect(await listBin(tenant, now + 3, { ...firstPage, ...ofApps })).toEqual([]);
    const counts = [{}, { most: 2 }, ofApps].map((wanted) => countBin(tenant, now + 3, wanted));
    expect(await Promise.all(counts)).toEqual([3, 2, 0]);
  });
}

function describeReturning(both: Both): void {
  test("takes the visits of a link that was deleted before they were written", async () => {
    const { store, other } = both();
    const [projectId, foreign] = [await addProject(store), await addProject(store)];
    const gone = await store.write((db) => addLink({ db, projectId }, "gone"));
    const there = await store.write((db) => addLink({ db, projectId }, "there"));
    await store.write((db) => deleteLink({ db, projectId }, gone, now));
    await other.write((db) =>
      addClicks(db, [
        { projectId, linkId: there, clicks: 2 },
        { projectId, linkId: gone, clicks: 3 },
        { projectId: foreign, linkId: gone, clicks: 5 },
        { projectId, linkId: makeId(), clicks: 7 },
      ]),
    );
    const tenant = { db: store.db, projectId };
    expect(await findInBin(tenant, "link", gone, now)).toMatchObject({ clicks: 3 });
    await store.write((db) => restore({ db, projectId }, gone));
    expect(await findLink(tenant, gone)).toMatchObject({ clicks: 3 });
    expect(await findLink(tenant, there)).toMatchObject({ clicks: 2 });
    expect(await countBin(tenant, now)).toBe(0);
  });

  test("an app is not deleted through another project", async () => {
    const { store } = both();
    const [projectId, foreign] = [await addProject(store), await addProject(store)];
    const id = makeId();
    await store.write((db) => iosAppStore.insert({ db, projectId }, id, values, 1));
    await store.write((db) => iosAppStore.remove({ db, projectId: foreign }, id, now));
    expect(await iosAppStore.find({ db: store.db, projectId }, id)).toBeDefined();
  });

  test("brings an app back under its id, as often as it is deleted", async () => {
    const { store, other } = both();
    const projectId = await addProject(store);
    const tenant = { db: other.db, projectId };
    const id = makeId();
    await store.write((db) => iosAppStore.insert({ db, projectId }, id, values, 1));
    const rows = store.db.selectFrom("ios_apps").selectAll().where("id", "=", id);
    const before = await rows.execute();
    for (const turn of [1, 2]) {
      await store.write((db) => iosAppStore.remove({ db, projectId }, id, now + turn));
      expect(await iosAppStore.find(tenant, id)).toBeUndefined();
      const restored = await store.write((db) =>
        iosAppStore.restore({ db, projectId }, id, now + turn),
      );
      expect(restored).toEqual({ restored: { app: { id, ...values } } });
      expect(await rows.execute()).toEqual(before);
    }
    const again = store.write((db) => iosAppStore.restore({ db, projectId }, id, now));
    expect(await again).toBeUndefined();
  });

  test("claims no address of a link that cannot come back", async () => {
    const { store } = both();
    const projectId = await addProject(store);
    const more = { shortened_path: "short" };
    const id = await store.write((db) => addLink({ db, projectId }, "long", more));
    await store.write((db) => deleteLink({ db, projectId }, id, now));
    await store.write((db) => addLink({ db, projectId }, "short"));
    const refused = await store.write((db) => restore({ db, projectId }, id));
    expect(refused).toEqual({ taken: ["shortened_path"] });
    const isFree = store.write((db) => claimAddress({ db, projectId }, "long", makeId()));
    expect(await isFree).toBe(true);
  });
}

async function restore(tenant: Tenant, id: string) {
  const deleted: DeletedLink | undefined = await findInBin(tenant, "link", id, now);
  return deleted && restoreLink(tenant, deleted, now);
}

/** Brings one of a project's deleted links back; false where that is not possible. */
export async function restoreAny(tenant: Tenant, at: number): Promise<boolean> {
  const entries = await listBin(tenant, now, { offset: at, limit: 1 });
  const [entry] = entries;
  const restored = entry && (await restore(tenant, entry.id));
  return restored !== undefined && "restored" in restored;
}
