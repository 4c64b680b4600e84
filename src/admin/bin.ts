import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { findKind } from "../contract/resource-kind.ts";
import { fold } from "../contract/text.ts";
import { countBin, emptyBin, findInBin, listBin, type BinEntry } from "../store/bin.ts";
import type { BinKind, Tenant } from "../store/tables.ts";
import { journal, type Operator } from "./operator.ts";

/** The bin of a project: lists and finds deleted links and apps, and empties the bin. */

/** A deleted link or app. */
export type DeletedItem = Pick<BinEntry, "kind" | "id" | "deleted_at" | "until"> & {
  readonly name: string | null;
  /** A link's path, an app's bundle ID or package name. */
  readonly identifier: string;
};

export const binEndpoints = {
  link: contract.links,
  ios_app: contract.iosApps,
  android_app: contract.androidApps,
} as const;

/** The field that distinguishes one of a kind from another. */
export function nameIdentifier(kind: BinKind): string {
  return findKind(binEndpoints[kind].index).key ?? "";
}

type BinSearch = {
  readonly page: number;
  readonly limit: number;
  /** Omitted for all kinds. */
  readonly kinds?: readonly BinKind[];
  readonly search?: string;
  /** Where counting may stop; omitted to count all of them. */
  readonly mostCounted?: number;
};

type BinPage = {
  readonly items: readonly DeletedItem[];
  readonly meta: Readonly<Record<"page" | "limit" | "count" | "last", number>>;
};

export async function listDeleted(
  tenant: Tenant,
  now: number,
  { page, limit, search = "", kinds, mostCounted }: BinSearch,
): Promise<BinPage> {
  const offset = (page - 1) * limit;
  const of = kinds && { kinds };
  const most = mostCounted === undefined ? {} : { most: mostCounted };
  const found = search === "" ? undefined : await searchBin(tenant, now, search, of);
  const [count, entries] =
    found === undefined
      ? await Promise.all([
          countBin(tenant, now, { ...of, ...most }),
          listBin(tenant, now, { offset, limit, ...of }),
        ])
      : [found.length, found.slice(offset, offset + limit)];
  const last = Math.max(1, Math.ceil(count / limit));
  return { items: entries.map(describeEntry), meta: { page, limit, count, last } };
}

/** How many of the latest deletions are searched. */
const mostSearched = 10_000;
const searchedAtOnce = 1000;

/** The bin has no index of its own. */
async function searchBin(
  tenant: Tenant,
  now: number,
  search: string,
  of: { readonly kinds?: readonly BinKind[] } = {},
): Promise<readonly BinEntry[]> {
  const text = fold(search.replace(/^\//, ""));
  const found: BinEntry[] = [];
  for (let offset = 0; offset < mostSearched; offset += searchedAtOnce) {
    const some = await listBin(tenant, now, { offset, limit: searchedAtOnce, ...of });
    found.push(...some.filter((entry) => hasText(entry, text)));
    if (some.length < searchedAtOnce) break;
  }
  return found;
}

function hasText({ id, kind, row }: BinEntry, text: string): boolean {
  const texts = [row["name"], row[nameIdentifier(kind)], row["url"], id];
  return texts.some((each) => typeof each === "string" && fold(each).includes(text));
}

function describeEntry({ kind, id, row, deleted_at, until }: BinEntry): DeletedItem {
  return { kind, id, ...readNames(kind, row), deleted_at, until };
}

function readNames(kind: BinKind, row: JsonObject): Pick<DeletedItem, "name" | "identifier"> {
  const [name, identifier] = [row["name"], row[nameIdentifier(kind)]];
  return {
    name: typeof name === "string" ? name : null,
    identifier: typeof identifier === "string" ? identifier : "",
  };
}

/** Undefined if it is no longer in the bin. */
export async function findDeleted(
  tenant: Tenant,
  kind: BinKind,
  id: string,
  now: number,
): Promise<{ readonly name: string; readonly row: JsonObject } | undefined> {
  const deleted = await findInBin<JsonObject>(tenant, kind, id, now);
  if (deleted === undefined) return undefined;
  const { name, identifier } = readNames(kind, deleted.row);
  return { name: name || identifier, row: deleted.row };
}

/** Deletes permanently what was in the bin at that time. */
export async function emptyProjectBin(
  operator: Operator,
  project_id: string,
  upTo: number,
  count: number,
): Promise<void> {
  const act = { tool: "bin empty", realm: project_id, kind: "bin", id: project_id, name: null };
  await journal(
    operator,
    { ...act, note: "The bin was emptied in the CLI. Its entries cannot be restored." },
    () => emptyBin(operator.store, project_id, upTo),
    () => ({ id: project_id, name: null, before: { entries: count }, after: { entries: 0 } }),
  );
}
