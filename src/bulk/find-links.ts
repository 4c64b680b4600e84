import { setImmediate as nextTurn } from "node:timers/promises";
import type { ServerAccess } from "../client/client.ts";
import type { FilterInput } from "../contract/filters.ts";
import { pickNamed, listNamedPaths, pickNamedLinks } from "../contract/rules/named-records.ts";
import { isStorable } from "../contract/text.ts";
import { listUnreadRows } from "../contract/endpoint.ts";
import { paging } from "../contract/limits.ts";
import { links, shortLinks, type ReadLink } from "../contract/links.ts";
import { Problem } from "../contract/problem.ts";
import { writeAddress } from "../contract/rules/link-path.ts";
import type { PlanOperation } from "../state/plans.ts";
import type { Owner } from "./owner.ts";
import { isFindable, type Row } from "./rows/check-rows.ts";
import { collectList } from "../lists/read-list.ts";
import { selectParts } from "../lists/select-links.ts";

/** Looks up the links that rows refer to, in batches. */

/** The links that rows refer to, and the links whose path a row would take. */
export type KnownLinks = {
  readonly byId: ReadonlyMap<string, ReadLink>;
  readonly byPath: ReadonlyMap<string, ReadLink>;
  readonly byShort: ReadonlyMap<string, ReadLink>;
  /** Links by name, for rows that identify a link by neither ID nor path. */
  readonly byOwnName: ReadonlyMap<string, readonly ReadLink[]>;
  /** True if some of the links could not be parsed. */
  readonly isPartial: boolean;
};

type LinkAccess = ServerAccess & Pick<Owner, "known" | "takesAnyId">;

const mostRows = paging.max_limit;
/** The maximum size of the paths in a request, because the paths are part of its URL. */
const mostBytes = 6000;
const nameBytes = 32;
const mostAtOnce = 8;

export async function* batchRows<Each>(rows: AsyncIterable<Each>): AsyncGenerator<readonly Each[]> {
  let batch: Each[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < mostRows) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/**
 * Finds the links of a batch of rows. Prefers paths, because one request can look up many paths but
 * only one ID.
 */
export async function findLinks(
  asking: LinkAccess & { readonly operation: PlanOperation },
  batch: readonly Row[],
): Promise<KnownLinks> {
  const { operation } = asking;
  const sound = batch.filter(({ problems }) => problems.length === 0);
  const paths = [...new Set(sound.flatMap(listPaths).filter(isFindable))];
  const { byName: byPath, unread } = await findAt(asking, "path", paths);
  const hasShort = operation !== "delete" || sound.some(({ named }) => named !== undefined);
  const left = hasShort ? paths.filter((path) => !byPath.has(path)) : [];
  const { byName: listed, unread: more } = await findAt(asking, "shortened_path", left);
  const moves = operation === "update" ? sound.flatMap(({ fields }) => fields.path ?? []) : [];
  const newPaths = operation === "upsert" ? paths : moves;
  const free = newPaths.filter((path) => !byPath.has(path) && !listed.has(path));
  const byShort = new Map([...listed, ...(await findUnlisted(asking, free))]);
  const byId = new Map([...byPath.values()].map((link) => [link.id, link] as const));
  const missing = sound.flatMap(({ link_id, path }) => {
    // An upsert row is matched by path, even if it also has an ID.
    const isMatched = operation === "upsert" && isFindable(path ?? "");
    return link_id === null || isMatched || byId.has(link_id) ? [] : [link_id];
  });
  for (const link of (await findEach(asking, missing, findById)).values()) {
    if (link !== undefined) byId.set(link.id, link);
  }
  const found = { byId, byPath, byShort, isPartial: unread + more > 0 };
  const known = { ...found, byOwnName: new Map<string, never>() };
  // Only the ID column may contain a name. A path is never looked up as a name.
  const names = sound.flatMap((row) => {
    const { by, address, text = "" } = row.named ?? {};
    const isName = by === "id" && address === undefined;
    return isName && pickMeant(row, known).length === 0 ? [text] : [];
  });
  return { ...found, byOwnName: await findEach(asking, [...new Set(names)], findOwnName) };
}

/**
 * Finds links by short paths. A link may have several short paths, but lists contain only one of
 * them. Only the embedded service can resolve all short paths.
 */
async function findUnlisted(
  asking: LinkAccess,
  paths: readonly string[],
): Promise<readonly (readonly [string, ReadLink])[]> {
  const { takesAnyId, known } = asking;
  const origin = takesAnyId ? undefined : known?.linkHost;
  if (origin === undefined) return [];
  const found = await findEach(asking, [...new Set(paths)], ({ call, signal }, path) =>
    undefinedIfNotFound(call(shortLinks.resolve, { url: writeAddress(origin, path) }, signal)),
  );
  return [...found].flatMap(([path, link]) => (link ? [[path, link] as const] : []));
}

function findOwnName({ call, signal }: ServerAccess, name: string): Promise<readonly ReadLink[]> {
  return findCalled(name, async (filters) => {
    const page = await call(links.index, { filters, limit: paging.max_limit }, signal);
    return { rows: page.links, hasMore: typeof page.meta.next === "number" };
  });
}

/** Returns the links that a row may refer to. A row with several such links is ambiguous. */
export function pickMeant(
  { link_id, path, fields, named }: Row,
  known: KnownLinks,
): readonly ReadLink[] {
  const { byPath, byShort, byId, byOwnName } = known;
  if (named === undefined) {
    // Prefer the ID, because the path may be a new path for the link.
    const link = link_id === null ? byPath.get(path ?? fields.path ?? "") : byId.get(link_id);
    return link === undefined ? [] : [link];
  }
  const near = listNamedPaths(named).flatMap((each) => [byPath.get(each), byShort.get(each)]);
  const links = near.filter((link) => link !== undefined);
  const all = [byId.get(link_id ?? ""), ...pickNamedLinks(named, links)];
  const meant = new Map(all.flatMap((link) => (link ? [[link.id, link] as const] : [])));
  return meant.size > 0 ? [...meant.values()] : (byOwnName.get(named.text) ?? []);
}

function listPaths({ path, fields, named }: Row): readonly string[] {
  const paths = [path ?? fields.path ?? "", ...(named ? listNamedPaths(named) : [])];
  return paths.filter((each) => each !== "");
}

async function findAt(
  asking: ServerAccess,
  field: "path" | "shortened_path",
  values: readonly string[],
): Promise<{ readonly byName: ReadonlyMap<string, ReadLink>; readonly unread: number }> {
  const byName = new Map<string, ReadLink>();
  let lost = 0;
  for (const value of splitIntoRequests(values)) {
    const filter = { field, condition: "in", value } as const;
    const { rows, unread } = await collectList(selectParts(asking, [filter]));
    lost += unread;
    for (const link of rows) {
      const name = link[field];
      if (name === undefined) lost += 1;
      else if (name !== null) byName.set(name, link);
    }
  }
  return { byName, unread: lost };
}

function* splitIntoRequests(paths: readonly string[]): Generator<readonly string[]> {
  let part: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const size = encodeURIComponent(path.toWellFormed()).length + nameBytes;
    if (part.length === mostRows || (bytes + size > mostBytes && part.length > 0)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(path);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

async function findEach<Found>(
  asking: ServerAccess,
  names: readonly string[],
  find: (asking: ServerAccess, name: string) => Promise<Found>,
): Promise<ReadonlyMap<string, Found>> {
  const byName = new Map<string, Found>();
  for (let start = 0; start < names.length; start += mostAtOnce) {
    const some = names.slice(start, start + mostAtOnce);
    await Promise.all(some.map(async (name) => byName.set(name, await find(asking, name))));
    // The embedded service answers synchronously, so let other work run.
    await nextTurn();
  }
  return byName;
}

export async function findAtPath(
  { call, signal }: ServerAccess,
  path: string,
): Promise<ReadLink | typeof unread | undefined> {
  const filter = { field: "path", condition: "eq", value: path } as const;
  const page = await call(links.index, { filters: [filter], limit: 2 }, signal);
  // Compare paths, because a server that ignores the filter may return any link.
  const found = page.links.find((link) => link.path === path);
  const isUnread = page.links.some((link) => link.path === undefined);
  return found ?? (isUnread || listUnreadRows(page).length > 0 ? unread : undefined);
}

/** Returned if a link could not be parsed, because that link may have the requested path. */
export const unread = "unread";

export function findById(
  { call, signal }: ServerAccess,
  id: string,
): Promise<ReadLink | undefined> {
  return undefinedIfNotFound(call(links.show, { id }, signal));
}

async function undefinedIfNotFound<Found>(reading: Promise<Found>): Promise<Found | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Finds links with this name. If no name matches exactly, ignores case. `listPage` reads the first
 * page of links that match the filters.
 */
export async function findCalled<Link extends { readonly name?: unknown }>(
  given: string,
  listPage: (filters: readonly FilterInput[]) => Promise<{
    readonly rows: readonly Link[];
    readonly hasMore: boolean;
  }>,
): Promise<readonly Link[]> {
  const value = given.trim();
  if (value === "" || !isStorable(value)) return [];
  const read = (condition: "eq" | "cont") => listPage([{ field: "name", condition, value }]);
  const pick = (rows: readonly Link[]) =>
    pickNamed(rows, value, {
      unique: () => "",
      name: ({ name }) => (typeof name === "string" ? name : ""),
    });
  // Compare names, because a server that ignores filters returns all links.
  const same = pick((await read("eq")).rows);
  if (same.length > 0) return same;
  const { rows, hasMore } = await read("cont");
  // Pages that were not read may contain another link with this name.
  return hasMore ? [] : pick(rows);
}
