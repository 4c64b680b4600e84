import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { ListQuery } from "../contract/filters.ts";
import type { Link } from "../contract/links.ts";
import type { LinkValues } from "../contract/rules/link-rules.ts";
import type { ReadSignal, Sql } from "../sql/sql.ts";
import { putInBin } from "./bin.ts";
import { indexedColumns, wholeIndex } from "./engines/link-search.ts";
import type { Counts } from "./filtered-counts.ts";
import { describeLinks, foldLink } from "./link-columns.ts";
import { isQuickList } from "./is-quick-list.ts";
import { queueLinkEvents } from "./events.ts";
import { countRows, isCountCut, readPage, type ListSource, type Page } from "./list-page.ts";
import { prepareQuery } from "./prepared-query.ts";
import { readTally, tallyWrite, type Tally } from "./project-tallies.ts";
import { releaseShortPaths } from "./short-paths.ts";
import { shownColumns, toLink, type ShownLink } from "./shown-link.ts";
import { toFlag, type Tables } from "./tables.ts";
import type { Tenant } from "./tenant.ts";
import { findSearch } from "./trigram-index.ts";

/** What a new link is made of. */
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

/** How lists are read, and what is known of how many links they have. */
type Lists = { readonly counts: Counts; readonly readLong: Sql<Tables>["readLong"] };

const selectLink = prepareQuery((db) =>
  db.selectFrom("links").select(shownColumns).where("project_id", "=", "").where("id", "=", ""),
);

export function findLink({ db, projectId }: Tenant, id: string): Awaitable<Link | undefined> {
  return andThen(selectLink(db, [projectId, id]), (row) => row && toLink(row));
}

/** A list that may take long is read where it holds up nobody, as of one moment. */
export async function listLinks(
  tenant: Tenant,
  { counts, readLong }: Lists,
  query: ListQuery,
  signal: ReadSignal,
): Promise<Page<Link>> {
  const tally = await readTally(tenant);
  if (isQuickList(query, tally.links)) return readLinks(tenant, counts, query, tally);
  const { projectId } = tenant;
  return readLong(
    async (db) => {
      const elsewhere = { db, projectId };
      return readLinks(elsewhere, counts, query, await readTally(elsewhere));
    },
    { signal, line: projectId },
  );
}

async function readLinks(
  tenant: Tenant,
  counts: Counts,
  query: ListQuery,
  tally: Tally,
): Promise<Page<Link>> {
  const describe = (isIndexed: boolean) => {
    return { shown: shownColumns, ...describeLinks(tenant, query, isIndexed) };
  };
  const indexed = describe(tally.indexed_to === wholeIndex);
  const count =
    query.filters.length === 0
      ? tally.links
      : await countFiltered(tenant, counts, indexed, query, tally);
  // What so many have is soon met along the order, and an index would collect all of them first.
  const source = isCountCut(query, count) ? describe(false) : indexed;
  const counted = { count, all: tally.links };
  const { items, meta } = await readPage<ShownLink>(tenant.db, source, query, counted);
  return { items: items.map(toLink), meta };
}

/**
 * Takes an address of the project for a link; false when it is taken. It inserts without asking
 * first, for of two writers that insert, only one succeeds.
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

/** Inserts a link whose addresses were claimed before. */
export async function insertLink(tenant: Tenant, link: NewLink): Promise<Link> {
  const { now, ...values } = link;
  const tally = await tallyWrite(tenant, 1);
  const shown = await tenant.db
    .insertInto("links")
    .values({
      project_id: tenant.projectId,
      ...values,
      ...foldLink(link),
      enable_forced_redirect: toFlag(link.enable_forced_redirect),
      ios_deferred_deep_linking_enabled: toFlag(link.ios_deferred_deep_linking_enabled),
      former_ios_app_id: null,
      former_android_app_id: null,
      clicks: 0,
      created_at: now,
      updated_at: now,
    })
    .returning(shownColumns)
    .executeTakeFirstOrThrow();
  await findSearch(tenant.db).indexLink(tenant, link.id, tally.indexed_to);
  const inserted = toLink(shown);
  await queueLinkEvents(tenant, tally, [{ event: "link.created", link: inserted }], now);
  return inserted;
}

/** Changes a link; a new path must have been claimed before, and the old one is released. */
export async function updateLink(
  tenant: Tenant,
  before: Link,
  changes: LinkChanges,
  now: number,
): Promise<Link> {
  const { db, projectId } = tenant;
  const tally = await tallyWrite(tenant, 0);
  const { indexed_to } = tally;
  const search = findSearch(db);
  const isSearched = indexedColumns.some((field) => field in changes);
  if (isSearched) await search.unindexLink(tenant, before.id, indexed_to);
  const row = await db
    .updateTable("links")
    // A column whose value is undefined is left as it is.
    .set({
      ...changes,
      ...foldLink(changes),
      enable_forced_redirect: toFlag(changes.enable_forced_redirect),
      ios_deferred_deep_linking_enabled: toFlag(changes.ios_deferred_deep_linking_enabled),
      // Somebody has chosen since: a deleted app that comes back does not come back on this link.
      former_ios_app_id: changes.ios_app_id === undefined ? undefined : null,
      former_android_app_id: changes.android_app_id === undefined ? undefined : null,
      updated_at: now,
    })
    .where("project_id", "=", projectId)
    .where("id", "=", before.id)
    .returning(shownColumns)
    .executeTakeFirstOrThrow();
  if (isSearched) await search.indexLink(tenant, before.id, indexed_to);
  if (changes.path !== undefined && changes.path !== before.path) {
    await releaseAddress(tenant, before.path);
  }
  const link = toLink(row);
  await queueLinkEvents(tenant, tally, [{ event: "link.updated", link, before }], now);
  return link;
}

/** Puts a link into the bin and frees its addresses; false when there was none. */
export async function deleteLink(tenant: Tenant, id: string, now: number): Promise<boolean> {
  const { db, projectId } = tenant;
  const query = db.selectFrom("links").selectAll().where("project_id", "=", projectId);
  const link = await query.where("id", "=", id).executeTakeFirst();
  if (link === undefined) return false;
  const tally = await tallyWrite(tenant, -1);
  await findSearch(db).unindexLink(tenant, id, tally.indexed_to);
  await db.deleteFrom("links").where("project_id", "=", projectId).where("id", "=", id).execute();
  await releaseAddress(tenant, link.path);
  await releaseAddress(tenant, link.shortened_path);
  await releaseShortPaths(tenant, id);
  const { rowkey: _, ...row } = link;
  await putInBin(tenant, "link", row, now);
  await queueLinkEvents(tenant, tally, [{ event: "link.deleted", link: toLink(row) }], now);
  return true;
}

export async function releaseAddress(
  { db, projectId }: Tenant,
  address: string | null,
): Promise<void> {
  if (address === null) return;
  await db
    .deleteFrom("addresses")
    .where("project_id", "=", projectId)
    .where("address", "=", address)
    .execute();
}

async function countFiltered(
  { db, projectId }: Tenant,
  counts: Counts,
  source: ListSource,
  query: ListQuery,
  { generation, clicked }: Tally,
): Promise<number> {
  const isByClicks = query.filters.some(({ tests }) =>
    tests.some(({ field }) => field === "clicks"),
  );
  const filters = JSON.stringify([query.filters, query.count_to]);
  const key = isByClicks ? `${projectId} ${clicked} ${filters}` : `${projectId} ${filters}`;
  const known = counts.find(key, generation);
  if (known !== undefined) return known;
  const count = await countRows(db, source, query);
  counts.remember(key, generation, count);
  return count;
}

/** The path of each existing link; null where it has none. */
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
