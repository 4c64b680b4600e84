import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { createId } from "../../src/service/ids.ts";
import { makeProject } from "../../src/service/write-project.ts";
import type { ReadSignal } from "../../src/sql/sql.ts";
import { findInBin } from "../../src/store/bin.ts";
import {
  claimAddress,
  insertLink,
  restoreLink,
  type DeletedLink,
  type NewLink,
} from "../../src/store/links.ts";
import type { Store } from "../../src/store/store.ts";
import { foldTexts, type Db, type Tenant, storeDatabase } from "../../src/store/tables.ts";
import { sql } from "kysely";
import type { Clicks } from "../../src/host/clicks.ts";
import { describeVisit, type CountedVisit } from "../../src/stats/visit.ts";

/** Use these to write rows directly to a store, without the API or by the thousand. */

export const now = Date.UTC(2026, 0, 15, 12);
const maker = {
  clock: { now: () => now, monotonic: () => 0 },
  random: { bytes: (count: number) => randomBytes(count) },
};

export const staying: ReadSignal = { hasLeft: () => false, onAbort: () => undefined };

export function createCaller() {
  const ends: (() => void)[] = [];
  let isGone = false;
  return {
    signal: { hasLeft: () => isGone, onAbort: (end: () => void) => void ends.push(end) },
    leave: () => {
      isGone = true;
      for (const end of ends) end();
    },
  };
}

export function makeId(): string {
  return createId(maker.clock, maker.random);
}

type ProjectOptions = Parameters<typeof makeProject>[2] & Parameters<typeof makeProject>[3];

export async function addProject(store: Store, wanted?: ProjectOptions): Promise<string> {
  return (await store.write((db) => addProjectTo(db, wanted))).id;
}

function addProjectTo(db: Db, wanted: ProjectOptions = {}) {
  const subdomain = `p-${randomBytes(6).toString("hex")}`;
  return makeProject(db, maker, { name: "Shop", subdomain, ...wanted }, wanted);
}

const blank = {
  name: null,
  url: "https://example.com",
  social_title: null,
  social_description: null,
  social_image_url: null,
  ios_fallback_url: null,
  android_fallback_url: null,
  enable_forced_redirect: false,
  referrer: null,
  ios_deferred_deep_linking_enabled: false,
  provider_token: null,
  campaign_token: null,
  ios_app_id: null,
  android_app_id: null,
  shortened_path: null,
  created_via: "api",
} as const;

export async function addLink(
  tenant: Tenant,
  path: string,
  more: Partial<NewLink> = {},
): Promise<string> {
  const id = makeId();
  const link = { ...blank, now, ...more, id, path };
  for (const address of [path, link.shortened_path]) {
    if (address !== null) expect(await claimAddress(tenant, address, id)).toBe(true);
  }
  return (await insertLink(tenant, link)).id;
}

/** Writes numbered links at once and returns their ids. The project must not have an index. */
export async function addLinks(
  tenant: Tenant,
  count: number,
  { paths = "link", ...more }: Partial<NewLink> & { readonly paths?: string } = {},
): Promise<readonly string[]> {
  const { db, projectId } = tenant;
  const id = await addLink(tenant, `${paths}-0`, { name: "Link 0", ...more });
  const query = db.selectFrom("links").selectAll().where("id", "=", id);
  const { rowkey: _, ...first } = await query.executeTakeFirstOrThrow();
  const others = Array.from({ length: count - 1 }, (__, turn) => {
    const [path, name] = [`${paths}-${turn + 1}`, `Link ${turn + 1}`];
    const link = { ...first, id: makeId(), path, name };
    return { ...link, ...foldTexts("links", link) };
  });
  for (let start = 0; start < others.length; start += atOnce) {
    const rows = others.slice(start, start + atOnce);
    await db.insertInto("links").values(rows).execute();
    const addresses = rows.map((link) => {
      return { project_id: projectId, address: link.path, link_id: link.id };
    });
    await db.insertInto("addresses").values(addresses).execute();
  }
  await db
    .updateTable("tallies")
    .set(({ eb }) => ({ links: eb("links", "+", others.length) }))
    .where("project_id", "=", projectId)
    .execute();
  return [id, ...others.map((link) => link.id)];
}

/** The number of links that fit in one statement. */
const atOnce = 500;

/** Restores a deleted link of a project. Returns undefined if it is not in the bin. */
export async function restoreDeleted(tenant: Tenant, id: string) {
  const deleted: DeletedLink | undefined = await findInBin(tenant, "link", id, now);
  return deleted && restoreLink(tenant, deleted, now);
}

const withProject = storeDatabase.tables.filter(({ key }) => key.includes("project_id"));
/** Copies leave these out: keys are read before their project, and visits expire soon. */
const tables = [...withProject.map(({ name }) => name), "api_keys", "deferred_visits"];

/** All rows of a project in the store, by table, except its own row. */
export async function readProjectRows(
  { db }: Pick<Store, "db">,
  projectId: string,
): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const found = new Map<string, readonly unknown[]>();
  for (const table of tables) {
    const { rows } = await sql`
      select * from ${sql.table(table)} where project_id = ${projectId}
    `.execute(db);
    if (rows.length > 0) found.set(table, rows);
  }
  return found;
}

export function noteClick(
  clicks: Pick<Clicks, "note">,
  projectId: string,
  linkId: string,
  otherwise: Partial<CountedVisit> = {},
): void {
  const visit = { what: "click", at: now, platform: "desktop", source: "address" } as const;
  clicks.note(linkId, describeVisit({ projectId, ...visit, ...otherwise }));
}
