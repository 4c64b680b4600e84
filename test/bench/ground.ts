import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { clock, openEmbedded, random } from "../../src/compose/embedded.ts";
import { createId } from "../../src/service/ids.ts";
import { issueKey } from "../../src/service/issue-key.ts";
import { makeProject } from "../../src/service/write-project.ts";
import { androidAppStore, iosAppStore } from "../../src/store/apps.ts";
import type { Store } from "../../src/store/store.ts";
import type { Tenant } from "../../src/store/tenant.ts";
import { seedLinks, type Seeded, type Wanted } from "./seed.ts";

/** A data folder of the bench's own, with a large and an empty project in it. */

export type Ground = Seeded & {
  readonly folder: string;
  readonly file: string;
  /** The bench's own way into the file, beside the server that it measures. */
  readonly store: Store;
  readonly large: Plot;
  readonly empty: Plot;
  /** Has `visitedLinks` links. */
  readonly visited: Plot;
  readonly seedSeconds: number;
  readonly file_mb: number;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

/** A project with so many keys that no budget is ever spent: 600 writes a minute each. */
export type Plot = {
  readonly projectId: string;
  readonly keys: readonly string[];
};

export const commonApp = "com.example.everywhere";
export const rareApp = "com.example.rare";

export const visitedLinks = 100_000;
const keysEach = 250;
const maker = { clock, random };

export async function prepareGround(links: number): Promise<Ground> {
  const folder = await mkdtemp(join(tmpdir(), "waypost-bench-"));
  const { store } = await openEmbedded({ data: folder });
  const file = join(folder, "waypost.db");
  const large = await addPlot(store, "large");
  const empty = await addPlot(store, "empty");
  const visited = await addPlot(store, "visited");
  const apps = await addApps(store, large);
  const visitedApps = await addApps(store, visited);

  const started = performance.now();
  const seeded = seedLinks(file, { links, projectId: large.projectId, ...apps });
  seedLinks(file, { links: visitedLinks, projectId: visited.projectId, ...visitedApps });
  return {
    ...seeded,
    folder,
    file,
    store,
    large,
    empty,
    visited,
    seedSeconds: (performance.now() - started) / 1000,
    file_mb: (await stat(file)).size / 1e6,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Keys in turns. */
export function createKeyRing({ keys }: Plot): () => string {
  let turn = 0;
  return () => keys[turn++ % keys.length] ?? "";
}

export async function addPlot(store: Store, subdomain: string): Promise<Plot> {
  const names = { name: subdomain, subdomain, custom_domain: null };
  const project = await store.write((db) => makeProject(db, maker, names));
  const wanted = { project_id: project.id, scopes: [], role: "owner" } as const;
  const keys = await store.write((db) =>
    repeat(keysEach, async () => (await issueKey(db, maker, wanted)).token),
  );
  return { projectId: project.id, keys };
}

async function addApps(
  store: Store,
  { projectId }: Plot,
): Promise<Pick<Wanted, "apps" | "androidApps">> {
  const tenant = { db: store.db, projectId };
  return {
    apps: {
      common: await addIosApp(store, tenant, commonApp),
      rare: await addIosApp(store, tenant, rareApp),
      others: await repeat(20, (turn) => addIosApp(store, tenant, `com.example.app${turn}`)),
    },
    androidApps: await repeat(20, (turn) => addAndroidApp(store, tenant, `com.example.a${turn}`)),
  };
}

async function addIosApp(store: Store, tenant: Tenant, bundle_id: string): Promise<string> {
  const blank = { name: null, app_store_id: null, clip_bundle_id: null, custom_scheme: null };
  const values = { ...blank, bundle_id, team_id: "ABCDE12345" };
  const id = createId(clock, random);
  await store.write((db) => iosAppStore.insert({ ...tenant, db }, id, values, clock.now()));
  return id;
}

async function addAndroidApp(store: Store, tenant: Tenant, package_name: string): Promise<string> {
  const values = { name: null, package_name, fingerprints: ["AB:CD"], custom_scheme: null };
  const id = createId(clock, random);
  await store.write((db) => androidAppStore.insert({ ...tenant, db }, id, values, clock.now()));
  return id;
}

async function repeat<Result>(
  times: number,
  act: (turn: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let turn = 0; turn < times; turn += 1) results.push(await act(turn));
  return results;
}
