import { expect } from "vitest";
import type { Row } from "./filter-model.ts";
import type { World } from "./world.ts";

/** Links for lists to be tried on. */

export const day = 86_400_000;

export type Seed = {
  readonly name: string | null;
  readonly path: string;
  readonly isShortened?: boolean;
  readonly clicks?: number;
  readonly created_via?: "api" | "console";
  readonly ios_app_bundle_id?: string | null | undefined;
  readonly android_app_package_name?: string | null | undefined;
  /** Fields that the specification's filters do not know. */
  readonly more?: Readonly<Record<string, string | null>>;
  /** How long after the one before it: a day, unless said otherwise. */
  readonly pause?: number;
};

/** Makes links through the API; what the API cannot set is set behind its back. */
export async function plantLinks(world: World, seeds: readonly Seed[]): Promise<Row[]> {
  const rows: Row[] = [];
  for (const seed of seeds) {
    const { clicks = 0, created_via = "api", pause = day, isShortened = false } = seed;
    const { ios_app_bundle_id = null, android_app_package_name = null } = seed;
    world.advance(pause);
    const reply = await world.call("POST", "/links", {
      body: {
        name: seed.name,
        path: seed.path,
        ...seed.more,
        options: { shorten: isShortened },
        ...(ios_app_bundle_id !== null && {
          ios_app: { bundle_id: ios_app_bundle_id, team_id: "TEAM000001" },
        }),
        ...(android_app_package_name !== null && {
          android_app: { package_name: android_app_package_name, fingerprints: ["AA:BB"] },
        }),
      },
    });
    expect(reply.status, reply.text).toBe(201);
    const { id, name, path, shortened_path } = reply.body;
    await world.store.write((db) =>
      db.updateTable("links").set({ clicks, created_via }).where("id", "=", id).execute(),
    );
    const created_at = await readCreation(world, "links", id);
    const apps = { ios_app_bundle_id, android_app_package_name };
    const told = { id, name, path, shortened_path, clicks, created_at, created_via };
    rows.push({ ...told, ...apps, ...seed.more });
  }
  return rows;
}

/** Lists filter and sort by it, and no reply shows it. */
export async function readCreation(
  world: World,
  table: "links" | "ios_apps" | "android_apps",
  id: string,
): Promise<number> {
  const { created_at } = await world.store.db
    .selectFrom(table)
    .select("created_at")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return created_at;
}
