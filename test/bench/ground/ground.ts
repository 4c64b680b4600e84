import { clock, random } from "../../../src/compose/embedded.ts";
import { createId } from "../../../src/service/ids.ts";
import { wholeIndex } from "../../../src/store/engines/link-search.ts";
import { dropIndex, createIndex } from "../../../src/store/trigram-index.ts";
import { readTally } from "../../../src/store/project-tallies.ts";
import { setTimeout } from "node:timers/promises";
import type { Build } from "../builds.ts";
import type { Folder } from "../leftovers.ts";
import {
  copyDataFile,
  makeDataFolder,
  openDataFile,
  readSchema,
  type DataFile,
} from "./data-file.ts";
import { addPlot, type Plot } from "./plots.ts";
import { seedLinks, type Seeded, type Wanted } from "./seed.ts";

/** The large data folder: what a service that runs for years has in it. */
export type Ground = Seeded & {
  readonly file: DataFile;
  /** Has as many links as were asked for; without an index at first. */
  readonly large: Plot;
  /** Has `visitedLinks` links. */
  readonly visited: Plot;
  /** Has so few links that no index is built for them: what people write to while they are read. */
  readonly small: Plot;
};

export const commonApp = "com.example.everywhere";
export const rareApp = "com.example.rare";

export const visitedLinks = 100_000;
const smallLinks = 2000;

/** The ground of each build, made when it is first asked for and kept for all scenarios. */
export type Grounds = {
  readonly find: (build: Build) => Promise<Ground>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export function shareGrounds(links: number): Grounds {
  const grounds = new Map<Build, Promise<Ground>>();
  const seeds = new Map<string, Promise<Seed>>();
  const findSeed = async (build: Build) => {
    const folder = await makeDataFolder(build);
    const schema = readSchema(folder.path);
    const known = seeds.get(schema);
    if (known !== undefined) folder[Symbol.dispose]();
    const seed = known ?? seedFolder(folder, links);
    seeds.set(schema, seed);
    return seed;
  };
  const prepare = async (build: Build): Promise<Ground> => {
    const { folder, ...seed } = await findSeed(build);
    return { ...seed, file: copyDataFile(folder.path) };
  };
  return {
    find: (build) => {
      const ground = grounds.get(build) ?? prepare(build);
      grounds.set(build, ground);
      return ground;
    },
    [Symbol.asyncDispose]: async () => {
      for (const ground of grounds.values()) await (await ground).file[Symbol.asyncDispose]();
      for (const seed of seeds.values()) (await seed).folder[Symbol.dispose]();
    },
  };
}

/** Seeding takes minutes: builds with the same tables get copies of one that nobody has served. */
type Seed = Omit<Ground, "file"> & { readonly folder: Folder };

async function seedFolder(folder: Folder, links: number): Promise<Seed> {
  await using file = openDataFile(folder.path);
  const large = await addPlot(file, "large");
  const visited = await addPlot(file, "visited");
  const small = await addPlot(file, "small");
  await seedPlot(file, visited, visitedLinks);
  await seedPlot(file, small, smallLinks);
  const { samples } = await seedPlot(file, large, links);
  return { folder, samples, large, visited, small };
}

/** Fills a project with links and the apps that some of them have. */
export async function seedPlot(
  file: DataFile,
  { projectId }: Plot,
  links: number,
): Promise<Seeded> {
  return seedLinks(file.path, { links, projectId, ...(await addApps(file, projectId)) });
}

/** Lets the server that runs on the folder build a project's index anew; answers at once. */
export async function startIndex({ write }: DataFile, { projectId }: Plot): Promise<void> {
  await write(async (db) => {
    await dropIndex(db, projectId);
    await createIndex({ db, projectId });
  });
}

/** Waits until the server has built it. */
export async function awaitIndex({ db }: DataFile, { projectId }: Plot): Promise<void> {
  while ((await readTally({ db, projectId })).indexed_to !== wholeIndex) await setTimeout(100);
}

/** There is none any more, and nobody goes on building it. */
export async function endIndex({ write }: DataFile, { projectId }: Plot): Promise<void> {
  await write(async (db) => {
    await db
      .updateTable("tallies")
      .set({ indexed_to: null })
      .where("project_id", "=", projectId)
      .execute();
    await db
      .deleteFrom("chores")
      .where("project_id", "=", projectId)
      .where("kind", "=", "index_project")
      .execute();
    await dropIndex(db, projectId);
  });
}

export async function addApps(
  file: Pick<DataFile, "write">,
  projectId: string,
): Promise<Pick<Wanted, "apps" | "androidApps">> {
  return file.write(async (db) => {
    const addIosApp = async (bundle_id: string) => {
      const { identifier: bundle_id_lc, ...own } = makeAppRow(projectId, bundle_id);
      const team = { team_id: "ABCDE12345", team_id_lc: "abcde12345" };
      const blank = { app_store_id: null, clip_bundle_id: null, clip_bundle_id_lc: null };
      const values = { ...own, ...team, ...blank, bundle_id, bundle_id_lc };
      await db.insertInto("ios_apps").values(values).execute();
      return own.id;
    };
    const addAndroidApp = async (package_name: string) => {
      const { identifier: package_name_lc, ...own } = makeAppRow(projectId, package_name);
      const fingerprints = JSON.stringify(["AB:CD"]);
      const values = { ...own, package_name, package_name_lc, fingerprints };
      await db.insertInto("android_apps").values(values).execute();
      return own.id;
    };
    return {
      apps: {
        common: await addIosApp(commonApp),
        rare: await addIosApp(rareApp),
        others: await repeat(20, (turn) => addIosApp(`com.example.app${turn}`)),
      },
      androidApps: await repeat(20, (turn) => addAndroidApp(`com.example.a${turn}`)),
    };
  });
}

/**
 * What both kinds have, with its identifier folded. It is written below the service: an earlier
 * commit's tallies may lack what this one asks them for.
 */
function makeAppRow(project_id: string, identifier: string) {
  const now = clock.now();
  const unnamed = { name: null, name_lc: null, custom_scheme: null, custom_scheme_lc: null };
  const id = createId(clock, random);
  return { project_id, id, ...unnamed, created_at: now, updated_at: now, identifier };
}

async function repeat<Result>(
  times: number,
  act: (turn: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let turn = 0; turn < times; turn += 1) results.push(await act(turn));
  return results;
}
