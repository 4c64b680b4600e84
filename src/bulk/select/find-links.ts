import { setImmediate as nextTurn } from "node:timers/promises";
import { listUnreadRows } from "../../contract/deviations.ts";
import { paging } from "../../contract/limits.ts";
import { links, type ReadLink } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import type { PlanOperation } from "../../state/plans.ts";
import type { Asking } from "../owner.ts";
import { isFindable, type CheckedRow } from "../rows/check-rows.ts";
import { selectLinks } from "./select-links.ts";

/** The links that rows mean, looked up for many of them together. */

export type Known = Taken & { readonly byId: ReadonlyMap<string, ReadLink> };

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
  for await (const row of rows) {
    bytes += encodeURIComponent((readPath(row) ?? "").toWellFormed()).length + nameBytes;
    batch.push(row);
    if (batch.length < mostRows && bytes < mostBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** By path wherever that can be: paths are looked up together, and ids one by one. */
export async function findLinks(
  { operation, ...asking }: Asking & { readonly operation: PlanOperation },
  batch: readonly CheckedRow[],
): Promise<Known> {
  const sound = batch.filter(({ problems }) => problems.length === 0);
  const paths = [...new Set(sound.flatMap((row) => readPath(row) ?? []).filter(isFindable))];
  const taken = await findAtPaths(asking, paths, operation !== "delete");
  const { byPath } = taken;
  const missing = sound.flatMap(({ id, ...row }) => {
    const path = readPath(row) ?? "";
    // An upsert is about its path, whatever the id says.
    const isFound = byPath.get(path)?.id === id || (operation === "upsert" && isFindable(path));
    return id === undefined || isFound ? [] : [id];
  });
  return { ...taken, byId: await findEach(asking, missing) };
}

/** Not more paths than one batch of rows has. */
export async function findAtPaths(
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

type Named = Pick<CheckedRow, "path" | "fields">;

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

async function findEach(
  asking: Asking,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadLink>> {
  const byId = new Map<string, ReadLink>();
  for (let start = 0; start < ids.length; start += mostAtOnce) {
    const some = ids.slice(start, start + mostAtOnce);
    const found = await Promise.all(some.map((id) => findById(asking, id)));
    for (const link of found) if (link !== undefined) byId.set(link.id, link);
    // A service in this process answers without a pause: other work of the process runs here.
    await nextTurn();
  }
  return byId;
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

export async function findById(
  { call, signal }: Asking,
  id: string,
): Promise<ReadLink | undefined> {
  try {
    return await call(links.show, { id }, signal);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}
