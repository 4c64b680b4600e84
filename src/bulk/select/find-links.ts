import { setImmediate as nextTurn } from "node:timers/promises";
import { listUnreadRows } from "../../contract/unread.ts";
import { paging } from "../../contract/limits.ts";
import { links, shortLinks, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import { writeAddress } from "../../contract/rules/link-address.ts";
import { listNamedPaths, pickNamedLinks } from "../../contract/rules/named-link.ts";
import type { PlanOperation } from "../../state/plans.ts";
import type { Asking } from "../owner.ts";
import { isFindable, type CheckedRow } from "../rows/check-rows.ts";
import { findCalled } from "./find-called.ts";
import { selectLinks } from "./select-links.ts";

/** The links that rows mean, looked up for many of them together. */

export type Known = Taken & {
  readonly byId: ReadonlyMap<string, ReadLink>;
  /** By the names of rows that are nothing else than that. */
  readonly byOwnName: ReadonlyMap<string, readonly ReadLink[]>;
};

/** By whom the paths are taken that rows want. */
export type Taken = {
  readonly byPath: ReadonlyMap<string, ReadLink>;
  readonly byShort: ReadonlyMap<string, ReadLink>;
  /** Whether more links were found, of which it cannot be told which they are. */
  readonly isPartial: boolean;
};

/** So many fit on one page of an answer. */
const mostRows = paging.max_limit;
/** All of their paths have to fit into one address, each with its parameter's name. */
const mostBytes = 6000;
const nameBytes = 32;
/** An id is asked for by a call of its own; so many are under way at once. */
const mostAtOnce = 8;

export async function* batchRows<Row extends Named>(
  rows: AsyncIterable<Row> | Iterable<Row>,
): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = [];
  let bytes = 0;
  let count = 0;
  for await (const row of rows) {
    const paths = listPaths(row);
    for (const path of paths) bytes += countBytes(path);
    count += Math.max(1, paths.length);
    batch.push(row);
    if (count < mostRows && bytes < mostBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
    count = 0;
  }
  if (batch.length > 0) yield batch;
}

/** By path wherever that can be: paths are looked up together, and ids one by one. */
export async function findLinks(
  { operation, ...asking }: Asking & { readonly operation: PlanOperation },
  batch: readonly CheckedRow[],
): Promise<Known> {
  const sound = batch.filter(({ problems }) => problems.length === 0);
  const paths = [...new Set(sound.flatMap(listPaths).filter(isFindable))];
  const hasNames = sound.some(({ named }) => named !== undefined);
  const found = await findAtPaths(asking, paths, operation !== "delete" || hasNames);
  const goals = operation === "delete" ? [] : sound.flatMap(({ fields }) => fields.path ?? []);
  const wanted = operation === "upsert" ? paths : goals;
  const taken = await addFurther(asking, await findNamed(asking, sound, found), wanted);
  const { byPath } = taken;
  const missing = sound.flatMap(({ id, ...row }) => {
    const path = readPath(row) ?? "";
    // An upsert is about its path, whatever the id says.
    const isFound = byPath.get(path)?.id === id || (operation === "upsert" && isFindable(path));
    return id === undefined || isFound ? [] : [id];
  });
  const byId = await findEach(asking, missing, findById);
  const known = { ...taken, byId: indexById(byId), byOwnName: new Map<string, never>() };
  const names = sound.flatMap((row) =>
    isOwnName(row.named) && pickMeant(row, known).length === 0 ? [row.named.text] : [],
  );
  return { ...known, byOwnName: await findEach(asking, [...new Set(names)], findOwnName) };
}

function indexById(byId: ReadonlyMap<string, ReadLink | undefined>): ReadonlyMap<string, ReadLink> {
  const found = [...byId.values()].filter((link) => link !== undefined);
  return new Map(found.map((link) => [link.id, link]));
}

/** A path that is gone names no other link: only what stands for an id may be a name. */
function isOwnName(named: CheckedRow["named"]): named is NonNullable<CheckedRow["named"]> {
  return named?.by === "id" && named.address === undefined;
}

async function findOwnName({ call, signal }: Asking, name: string): Promise<readonly ReadLink[]> {
  const { rows } = await findCalled(name, async (filters) => {
    const page = await call(links.index, { filters, limit: paging.max_limit }, signal);
    return { rows: page.links, hasMore: typeof page.meta.next === "number" };
  });
  return rows;
}

/** Of names that are no path as they were written, what else they may stand for. */
async function findNamed(
  asking: Asking,
  batch: readonly CheckedRow[],
  found: Taken,
): Promise<Taken> {
  const isThere = (path: string) => found.byPath.has(path) || found.byShort.has(path);
  const names = batch.flatMap(({ named }) =>
    named === undefined || named.exact.some(isThere) ? [] : listNamedPaths(named),
  );
  const missing = [...new Set(names)].filter((path) => isFindable(path) && !isThere(path));
  let all = found;
  for await (const some of batchRows(missing.map((path) => ({ path, fields: {} })))) {
    const more = await findAtPaths(
      asking,
      some.map(({ path }) => path),
    );
    all = {
      byPath: new Map([...all.byPath, ...more.byPath]),
      byShort: new Map([...all.byShort, ...more.byShort]),
      isPartial: all.isPartial || more.isPartial,
    };
  }
  return all;
}

/** The links that a row means: of more than one, nobody knows which. */
export function pickMeant(
  { id, path, fields, named }: CheckedRow,
  known: Known,
): readonly ReadLink[] {
  const { byPath, byShort, byId, byOwnName } = known;
  if (named === undefined) {
    // The id says which, where there is one; the path beside it may be where the link is to go.
    const atPath = byPath.get(path ?? fields.path ?? "");
    const link = id === undefined || atPath?.id === id ? atPath : byId.get(id);
    return link === undefined ? [] : [link];
  }
  const near = listNamedPaths(named).flatMap((each) => [byPath.get(each), byShort.get(each)]);
  const links = near.filter((link) => link !== undefined);
  const all = [byId.get(id ?? ""), ...pickNamedLinks(named, links)];
  const meant = new Map(all.flatMap((link) => (link ? [[link.id, link] as const] : [])));
  return meant.size > 0 ? [...meant.values()] : (byOwnName.get(named.text) ?? []);
}

/** The link at the same path here, of an address that is not ours. */
export function findThere({ named }: CheckedRow, { byPath, byShort }: Taken): ReadLink | undefined {
  const path = named?.address?.path ?? "";
  return byPath.get(path) ?? byShort.get(path);
}

/** By whom the paths are taken that links would move to. */
export async function findTaken(asking: Asking, paths: readonly string[]): Promise<Taken> {
  return addFurther(asking, await findAtPaths(asking, paths), paths);
}

/** Lists show one short path of each link; a link whose address has a query can have more. */
async function addFurther(asking: Asking, taken: Taken, paths: readonly string[]): Promise<Taken> {
  const { ownOrigin } = asking;
  if (ownOrigin === undefined) return taken;
  const free = paths.filter((path) => !taken.byPath.has(path) && !taken.byShort.has(path));
  const found = await findEach(asking, free, async ({ call, signal }, path) => {
    const url = writeAddress(ownOrigin, path);
    return orNotFound(call(shortLinks.resolve, { url }, signal));
  });
  const further = [...found].flatMap(([path, link]) => (link ? [[path, link] as const] : []));
  return { ...taken, byShort: new Map([...taken.byShort, ...further]) };
}

/** Not more paths than one batch of rows has. */
async function findAtPaths(
  asking: Asking,
  paths: readonly string[],
  isWanted = true,
): Promise<Taken> {
  const { byName: byPath, unread } = await findAt(asking, "path", paths);
  // A path that is wanted may also be taken by another link's shortened path.
  const free = isWanted ? paths.filter((path) => !byPath.has(path)) : [];
  const { byName: byShort, unread: more } = await findAt(asking, "shortened_path", free);
  return { byPath, byShort, isPartial: unread + more > 0 };
}

type Named = Pick<CheckedRow, "path" | "fields" | "named">;

/** The paths that are looked up for a row, whatever is found. */
function listPaths(row: Named): readonly string[] {
  const paths = [readPath(row) ?? "", ...(row.named?.exact ?? [])];
  return [...new Set(paths.filter((path) => path !== ""))];
}

function countBytes(path: string): number {
  return encodeURIComponent(path.toWellFormed()).length + nameBytes;
}

/** The path that a row names its link by, or wants it to have. */
function readPath({ path, fields }: Named) {
  return path ?? fields.path ?? undefined;
}

async function findAt(
  asking: Asking,
  field: "path" | "shortened_path",
  values: readonly string[],
): Promise<{ readonly byName: ReadonlyMap<string, ReadLink>; readonly unread: number }> {
  if (values.length === 0) return { byName: new Map(), unread: 0 };
  const found = await selectLinks(asking, [{ field, condition: "in", value: values }]);
  const named = found.rows.flatMap((link) => {
    const name = link[field];
    return typeof name === "string" ? [[name, link] as const] : [];
  });
  const nameless = found.rows.filter((link) => link[field] === undefined);
  return { byName: new Map(named), unread: found.unread + nameless.length };
}

/** What cannot be asked for together. */
async function findEach<Found>(
  asking: Asking,
  names: readonly string[],
  find: (asking: Asking, name: string) => Promise<Found>,
): Promise<ReadonlyMap<string, Found>> {
  const byName = new Map<string, Found>();
  for (let start = 0; start < names.length; start += mostAtOnce) {
    const some = names.slice(start, start + mostAtOnce);
    await Promise.all(some.map(async (name) => byName.set(name, await find(asking, name))));
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
  return byName;
}

export async function findAtPath(
  { call, signal }: Asking,
  path: string,
): Promise<ReadLink | typeof unread | undefined> {
  const filter = { field: "path", condition: "eq", value: path } as const;
  const page = await call(links.index, { filters: [filter], limit: 2 }, signal);
  // A deployment that did not know the filter would answer with any link at all.
  const found = page.links.find((link) => link.path === path);
  const isUnread = page.links.some((link) => link.path === undefined);
  return found ?? (isUnread || listUnreadRows(page).length > 0 ? unread : undefined);
}

/** A link that could not be read may be the one at the path: it proves neither. */
export const unread = "unread";

export function findById({ call, signal }: Asking, id: string): Promise<ReadLink | undefined> {
  return orNotFound(call(links.show, { id }, signal));
}

async function orNotFound<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}
