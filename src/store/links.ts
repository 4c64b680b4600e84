import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { Link } from "../contract/links.ts";
import type { LinkValues } from "../contract/rules/link-rules.ts";
import { andThen, type Awaitable } from "../contract/waiting.ts";
import { putInBin, takeOutOfBin, type Deleted, type Restored } from "./bin.ts";
import { prepareQuery } from "./prepared-query.ts";
import { readTally, tallyWrite } from "./projects.ts";
import {
  foldTexts,
  indexedColumns,
  toFlag,
  type AppKindName,
  type LinkTable,
  type Tenant,
} from "./tables.ts";
import { indexLink, unindexLink } from "./trigram-index.ts";
import { queueEvents, type NewEvent } from "./webhooks.ts";

/** Reads, writes, deletes and restores links and their paths. */

export type NewLink = LinkValues & {
  readonly id: string;
  readonly shortened_path: string | null;
  readonly ios_app_id: string | null;
  readonly android_app_id: string | null;
  readonly now: number;
  readonly created_via: "api" | "console";
};

export type LinkChanges = Partial<
  LinkValues & Pick<NewLink, "ios_app_id" | "android_app_id" | "shortened_path">
>;

const selectLink = prepareQuery((db) =>
  db.selectFrom("links").select(visibleColumns).where("project_id", "=", "").where("id", "=", ""),
);

export function findLink({ db, projectId }: Tenant, id: string): Awaitable<Link | undefined> {
  return andThen(selectLink(db, [projectId, id]), (row) => row && toLink(row));
}

/**
 * Claims a path for a link. Returns false if the path is taken. The insert itself detects a taken
 * path, so only one of two concurrent callers succeeds.
 */
export async function claimAddress(
  { db, projectId }: Tenant,
  address: string,
  linkId: string,
): Promise<boolean> {
  const inserted = db
    .insertInto("addresses")
    .values({ project_id: projectId, address, link_id: linkId })
    .onConflict((conflict) => conflict.doNothing())
    .returning("address");
  return (await inserted.executeTakeFirst()) !== undefined;
}

/** Inserts a link. The caller must have claimed its paths. */
export async function insertLink(tenant: Tenant, link: NewLink): Promise<Link> {
  const { now, ...values } = link;
  const tally = await tallyWrite(tenant, 1);
  const shown = await tenant.db
    .insertInto("links")
    .values({
      project_id: tenant.projectId,
      ...values,
      ...foldTexts("links", link),
      enable_forced_redirect: toFlag(link.enable_forced_redirect),
      ios_deferred_deep_linking_enabled: toFlag(link.ios_deferred_deep_linking_enabled),
      former_ios_app_id: null,
      former_android_app_id: null,
      clicks: 0,
      created_at: now,
      updated_at: now,
    })
    .returning(visibleColumns)
    .executeTakeFirstOrThrow();
  await indexLink(tenant, link.id, tally.indexed_to);
  const inserted = toLink(shown);
  await queueEvents(tenant, [{ event: "link.created", data: { link: inserted } }], now, tally);
  return inserted;
}

/** Updates a link and releases its old path. The caller must have claimed the new path. */
export async function updateLink(
  tenant: Tenant,
  before: Link,
  changes: LinkChanges,
  now: number,
): Promise<Link> {
  const { db, projectId } = tenant;
  const tally = await tallyWrite(tenant, 0);
  const { indexed_to } = tally;
  const isSearched = indexedColumns.some((field) => field in changes);
  if (isSearched) await unindexLink(tenant, before.id, indexed_to);
  const row = await db
    .updateTable("links")
    // Kysely skips undefined columns.
    .set({
      ...changes,
      ...foldTexts("links", changes),
      enable_forced_redirect: toFlag(changes.enable_forced_redirect),
      ios_deferred_deep_linking_enabled: toFlag(changes.ios_deferred_deep_linking_enabled),
      // A newly chosen app must not be replaced when the former app is restored.
      former_ios_app_id: changes.ios_app_id === undefined ? undefined : null,
      former_android_app_id: changes.android_app_id === undefined ? undefined : null,
      updated_at: now,
    })
    .where("project_id", "=", projectId)
    .where("id", "=", before.id)
    .returning(visibleColumns)
    .executeTakeFirstOrThrow();
  if (isSearched) await indexLink(tenant, before.id, indexed_to);
  if (changes.path !== undefined && changes.path !== before.path) {
    await releaseAddresses(tenant, sql`${before.path}`);
  }
  const link = toLink(row);
  await queueEvents(tenant, describeUpdate(before, link), now, tally);
  return link;
}

/** Returns no event if only the clicks have changed, because clicks have their own event. */
function describeUpdate(before: Link, link: Link): readonly NewEvent[] {
  const changed = Object.entries(before).filter(([field, value]) => {
    return field !== "clicks" && link[field] !== value;
  });
  const data = { link, previous: Object.fromEntries(changed) };
  return changed.length === 0 ? [] : [{ event: "link.updated", data }];
}

/** Moves a link to the bin and releases its paths. Returns false if the link does not exist. */
export async function deleteLink(tenant: Tenant, id: string, now: number): Promise<boolean> {
  const { db, projectId } = tenant;
  const query = db.selectFrom("links").selectAll().where("project_id", "=", projectId);
  const link = await query.where("id", "=", id).executeTakeFirst();
  if (link === undefined) return false;
  const tally = await tallyWrite(tenant, -1);
  await unindexLink(tenant, id, tally.indexed_to);
  await db.deleteFrom("links").where("project_id", "=", projectId).where("id", "=", id).execute();
  await releaseAddresses(tenant, selectAddresses(tenant, link));
  const { rowkey: _, ...row } = link;
  await putInBin(tenant, "link", row, now);
  await queueEvents(tenant, [{ event: "link.deleted", data: { link: toLink(row) } }], now, tally);
  return true;
}

async function releaseAddresses(
  { db, projectId }: Tenant,
  addresses: RawBuilder<unknown>,
): Promise<void> {
  await sql`
    delete from addresses where project_id = ${projectId} and address in (${addresses})
  `.execute(db);
}

/** Selects all paths of a link: its path, its short path and its additional short paths. */
function selectAddresses(
  { projectId }: Tenant,
  { id, path, shortened_path }: Pick<LinkTable, "id" | "path" | "shortened_path">,
): RawBuilder<unknown> {
  return sql`
    select path from short_paths where project_id = ${projectId} and link_id = ${id}
    union all select cast(${path} as text) union all select cast(${shortened_path} as text)
  `;
}

/** Maps link ids to paths. The path is null for a link without one. Deleted links are omitted. */
export async function readPaths(
  { db, projectId }: Tenant,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("links")
    .select(["id", "path"])
    .where("project_id", "=", projectId)
    .where("id", "in", ids)
    .execute();
  return new Map(rows.map(({ id, path }) => [id, path]));
}

export type VisitedAt = {
  readonly link: Link;
  /** The query that an additional short path adds to the visit; usually empty. */
  readonly query: string;
};

export async function findVisited(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  const link = await findLinkAt(tenant, path);
  if (link === undefined) return undefined;
  // Only additional short paths have a query of their own.
  const isOwnPath = path === link.path || path === link.shortened_path;
  const query = isOwnPath ? "" : await findQueryOf(tenant, { linkId: link.id, path });
  return { link, query };
}

export function findLinkAt(
  { db, projectId }: Tenant,
  address: string,
): Awaitable<Link | undefined> {
  return andThen(selectAt(db, [projectId, address]), (row) => row && toLink(row));
}

const selectAt = prepareQuery((db) =>
  db
    .selectFrom("addresses")
    .innerJoin("links", (join) =>
      join
        .onRef("links.project_id", "=", "addresses.project_id")
        .onRef("links.id", "=", "addresses.link_id"),
    )
    .select(visibleColumns)
    .where("addresses.project_id", "=", "")
    .where("addresses.address", "=", ""),
);

/** A deleted link's row, without its project and row number. */
export type DeletedLink = Deleted<Omit<LinkTable, "project_id" | "rowkey">>;

export async function restoreLink(
  tenant: Tenant,
  { id, row, clicks }: DeletedLink,
  now: number,
): Promise<Restored<Link>> {
  const taken = await claimAddresses(tenant, row);
  if (taken.length > 0) return { taken };
  const tally = await tallyWrite(tenant, 1);
  await takeOutOfBin(tenant, "link", id);
  const ios = await findAppOf(tenant, "ios_app", row);
  const android = await findAppOf(tenant, "android_app", row);
  const whole = {
    ...row,
    project_id: tenant.projectId,
    ios_app_id: ios.current,
    former_ios_app_id: ios.former,
    android_app_id: android.current,
    former_android_app_id: android.former,
    clicks: row.clicks + clicks,
    updated_at: now,
  };
  await tenant.db.insertInto("links").values(whole).execute();
  await indexLink(tenant, id, tally.indexed_to);
  const restored = await findLink(tenant, id);
  if (restored === undefined) throw new Error("a restored link did not come back");
  await queueEvents(tenant, [{ event: "link.created", data: { link: restored } }], now, tally);
  return { restored };
}

/** Claims all paths of a deleted link, or none if any is taken. Returns the taken fields. */
async function claimAddresses(
  tenant: Tenant,
  link: DeletedLink["row"],
): Promise<readonly string[]> {
  const { db, projectId } = tenant;
  const addresses = selectAddresses(tenant, link);
  const { rows } = await sql<{ readonly address: string }>`
    select address from addresses where project_id = ${projectId} and address in (${addresses})
  `.execute(db);
  if (rows.length === 0) {
    await sql`
      insert into addresses (project_id, address, link_id)
      select ${projectId}, path, ${link.id} from (${addresses}) as own where path is not null
    `.execute(db);
  }
  const isTaken = rows.some(({ address }) => address === link.path);
  const isShortTaken = rows.some(({ address }) => address !== link.path);
  return [...(isTaken ? ["path"] : []), ...(isShortTaken ? ["shortened_path"] : [])];
}

/** Finds a restored link's app. An app that is still deleted becomes the link's former app. */
async function findAppOf({ db, projectId }: Tenant, kind: AppKindName, row: DeletedLink["row"]) {
  const appId = row[`${kind}_id`] ?? row[`former_${kind}_id`];
  const app = await db
    .selectFrom(`${kind}s`)
    .select("id")
    .where("project_id", "=", projectId)
    .where("id", "=", appId ?? "")
    .executeTakeFirst();
  return app === undefined ? { current: null, former: appId } : { current: app.id, former: null };
}

const batchRows = 1000;

/** Detaches a deleted app from a batch of its links. Returns true if this was the last batch. */
export async function detachBatch(
  tenant: Tenant,
  kind: AppKindName,
  appId: string,
): Promise<boolean> {
  const key = sql.ref(`${kind}_id`);
  return changeLinks(tenant, {
    changes: sql`${sql.ref(`former_${kind}_id`)} = ${key}, ${key} = null`,
    column: key,
    appId,
    putBack: (link) => ({ ...link, [`${kind}_id`]: appId }),
  });
}

/**
 * Attaches a restored app to a batch of its former links, except those that now have another app.
 * Returns true if this was the last batch.
 */
export async function attachBatch(
  tenant: Tenant,
  kind: AppKindName,
  appId: string,
): Promise<boolean> {
  const key = sql.ref(`${kind}_id`);
  const former = sql.ref(`former_${kind}_id`);
  return changeLinks(tenant, {
    changes: sql`${key} = coalesce(${key}, ${former}), ${former} = null`,
    column: former,
    appId,
    putBack: (link) => (link[`${kind}_id`] === appId ? { ...link, [`${kind}_id`]: null } : link),
  });
}

type BulkChange = {
  readonly changes: ReturnType<typeof sql>;
  /** The column with the app in links that are not changed yet. */
  readonly column: ReturnType<typeof sql>;
  readonly appId: string;
  /** Returns the link as it was before the change, for the event. */
  readonly putBack: (link: Link) => Link;
};

async function changeLinks(
  tenant: Tenant,
  { changes, column, appId, putBack }: BulkChange,
): Promise<boolean> {
  const { db, projectId } = tenant;
  // In a statement of its own: PostgreSQL may run a subquery with a limit again for each link.
  const batch = sql<{ readonly id: string }>`
    select id from links where project_id = ${projectId} and ${column} = ${appId} limit ${batchRows}
  `;
  const ids = (await batch.execute(db)).rows.map(({ id }) => id);
  if (ids.length === 0) return true;
  const isLast = ids.length < batchRows;
  // With `coalesce`, the links are found by their IDs and not among all links with an app.
  const update = sql`
    update links set ${changes}
    where project_id = ${projectId} and id in (${sql.join(ids)})
      and coalesce(${column}, '') = ${appId}
  `;
  if ((await readTally(tenant)).webhooks === 0) {
    const { numAffectedRows = 0n } = await update.execute(db);
    if (numAffectedRows > 0n) await tallyWrite(tenant, 0);
    return isLast;
  }
  const { rows } = await sql<LinkTable>`${update} returning *`.execute(db);
  if (rows.length === 0) return isLast;
  await tallyWrite(tenant, 0);
  const changed = rows.map(toLink).flatMap((link) => describeUpdate(putBack(link), link));
  // Uses the system time, because background tasks are not passed a clock.
  await queueEvents(tenant, changed, Date.now());
  return isLast;
}

/** The columns that the API returns, in the order of the API specification. */
export const visibleColumns = [
  "id",
  "name",
  "path",
  "url",
  "social_description",
  "social_image_url",
  "social_title",
  "shortened_path",
  "android_fallback_url",
  "ios_fallback_url",
  "referrer",
  "provider_token",
  "campaign_token",
  "android_app_id",
  "ios_app_id",
  "enable_forced_redirect",
  "ios_deferred_deep_linking_enabled",
  "clicks",
] as const satisfies readonly (keyof LinkTable)[];

export type VisibleLink = Pick<LinkTable, (typeof visibleColumns)[number]>;

const flags: ReadonlySet<string> = new Set([
  "enable_forced_redirect",
  "ios_deferred_deep_linking_enabled",
] satisfies readonly (keyof VisibleLink)[]);

export function toLink(row: VisibleLink): Link {
  const link: Record<string, unknown> = {};
  for (const column of visibleColumns) {
    link[column] = flags.has(column) ? row[column] === 1 : row[column];
  }
  // The cast is safe: except for flags, columns and fields have the same names and types.
  return link as Link;
}

/** An additional short path of a link, for a different query or prefix. */
type ShortPath = { readonly linkId: string; readonly path: string; readonly query: string };

/** Finds the link's oldest short path with this query and prefix. */
export async function findShortPath(
  tenant: Tenant,
  { linkId, query, prefix }: Omit<ShortPath, "path"> & { readonly prefix: string },
): Promise<string | undefined> {
  const { length } = Array.from(prefix);
  const found = selectOf(tenant, linkId)
    .select("path")
    .where("query", "=", query)
    .where(sql<SqlBool>`substr(path, 1, ${sql.lit(length)}) = ${prefix}`)
    .orderBy("place");
  return (await found.limit(1).executeTakeFirst())?.path;
}

/** Returns the query string that a short path adds to the visited URL. Empty for other paths. */
async function findQueryOf(
  tenant: Tenant,
  { linkId, path }: Omit<ShortPath, "query">,
): Promise<string> {
  const found = selectOf(tenant, linkId).select("query").where("path", "=", path);
  return (await found.executeTakeFirst())?.query ?? "";
}

/** Stores a short path that the caller has already claimed. */
export async function insertShortPath(
  tenant: Tenant,
  { linkId, path, query }: ShortPath,
): Promise<void> {
  const { db, projectId } = tenant;
  const last = await selectOf(tenant, linkId)
    .select((row) => row.fn.max("place").as("place"))
    .where("query", "=", query)
    .executeTakeFirst();
  const place = (last?.place ?? -1) + 1;
  const row = { project_id: projectId, path, link_id: linkId, query, place };
  await db.insertInto("short_paths").values(row).execute();
}

function selectOf({ db, projectId }: Tenant, linkId: string) {
  return db
    .selectFrom("short_paths")
    .where("project_id", "=", projectId)
    .where("link_id", "=", linkId);
}
