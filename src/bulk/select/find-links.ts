import { setImmediate as nextTurn } from "node:timers/promises";
import { paging } from "../../contract/limits.ts";
import { links, type Link } from "../../contract/links.ts";
import { Problem } from "../../contract/problem.ts";
import type { PlanOperation } from "../../state/plans.ts";
import type { Asking } from "../owner.ts";
import { isFindable, type CheckedRow } from "../rows/check-rows.ts";
import { selectLinks } from "./select-links.ts";

/** The links that rows mean, looked up for many of them together. */

export type Known = {
  readonly byPath: ReadonlyMap<string, Link>;
  readonly byShort: ReadonlyMap<string, Link>;
  readonly byId: ReadonlyMap<string, Link>;
};

/** So many fit on one page of an answer. */
const mostRows = paging.max_limit;
/** All of their paths have to fit into one address, each with its parameter's name. */
const mostBytes = 6000;
const nameBytes = 32;
/** An id is asked for by a call of its own; so many are under way at once. */
const mostAtOnce = 8;

export async function* batchRows(
  rows: AsyncIterable<CheckedRow>,
): AsyncGenerator<readonly CheckedRow[]> {
  let batch: CheckedRow[] = [];
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
  const byPath = await findAt(asking, "path", paths);
  // A path may also be taken by another link's shortened path.
  const free = operation === "delete" ? [] : paths.filter((path) => !byPath.has(path));
  const byShort = await findAt(asking, "shortened_path", free);
  const missing = sound.flatMap(({ id, ...row }) => {
    const path = readPath(row) ?? "";
    // An upsert is about its path, whatever the id says.
    const isFound = byPath.get(path)?.id === id || (operation === "upsert" && isFindable(path));
    return id === undefined || isFound ? [] : [id];
  });
  return { byPath, byShort, byId: await findEach(asking, missing) };
}

/** The path that a row names its link by, or wants it to have. */
function readPath({ path, fields }: Pick<CheckedRow, "path" | "fields">) {
  return path ?? fields.path ?? undefined;
}

async function findAt(
  asking: Asking,
  field: "path" | "shortened_path",
  values: readonly string[],
): Promise<ReadonlyMap<string, Link>> {
  if (values.length === 0) return new Map();
  const found = await selectLinks(asking, [{ field, condition: "in", value: values }]);
  return new Map(found.map((link) => [link[field] ?? "", link]));
}

async function findEach(
  asking: Asking,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Link>> {
  const byId = new Map<string, Link>();
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
): Promise<Link | undefined> {
  const filter = { field: "path", condition: "eq", value: path } as const;
  const { links: found } = await call(links.index, { filters: [filter], limit: 2 }, signal);
  // A deployment that did not know the filter would answer with any link at all.
  return found.find((link) => link.path === path);
}

export async function findById({ call, signal }: Asking, id: string): Promise<Link | undefined> {
  try {
    return await call(links.show, { id }, signal);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}
