import type { AndroidApp, IosApp } from "../contract/apps.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import type { Link } from "../contract/links.ts";
import { notFound } from "../contract/problem.ts";
import { findKind } from "../contract/resource-kind.ts";
import { fold } from "../contract/text.ts";
import { androidAppKind, iosAppKind } from "../service/app-kinds.ts";
import { restoreDeletedApp, restoreDeletedLink } from "../service/write-link.ts";
import {
  countBin,
  emptyBin,
  findBinKind,
  findInBin,
  listBin,
  type BinEntry,
} from "../store/bin.ts";
import type { StoredProject } from "../store/projects.ts";
import type { BinKind, TaskTable, Tenant } from "../store/tables.ts";
import { quote } from "../text/show-hidden.ts";
import { journal, type Operator } from "./operator.ts";

/** The bin of a project: lists, finds and restores deleted links and apps, and empties the bin. */

export type DeletedItem = Pick<BinEntry, "kind" | "id" | "deleted_at" | "until"> & {
  readonly name: string | null;
  /** A link's path, or an app's bundle ID or package name. */
  readonly identifier: string;
};

export const binEndpoints = {
  link: contract.links,
  ios_app: contract.iosApps,
  android_app: contract.androidApps,
} as const;

export function nameIdentifier(kind: BinKind): string {
  return findKind(binEndpoints[kind].index).key ?? "";
}

type BinSearch = {
  readonly page: number;
  readonly limit: number;
  /** Defaults to all kinds. */
  readonly kinds?: readonly BinKind[];
  readonly search?: string;
  /** Counting stops at this number. If omitted, everything is counted. */
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

/** Reads all recent entries, because the bin has no search index. */
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

/** Returns undefined if the item is no longer in the bin. */
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

/** Permanently deletes the items that were moved to the bin at `upTo` or earlier. */
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

/** The time limit for reattaching an app to its links. After it, `waypost serve` does the rest. */
const longestTask_ms = 60_000;

type RestoredEntry = {
  readonly kind: BinKind;
  readonly restored: Link | IosApp | AndroidApp;
  readonly task?: TaskTable | undefined;
};

/** Throws if the bin contains no item with this ID. */
export async function restoreFromBin(
  operator: Operator,
  project: StoredProject,
  id: string,
): Promise<RestoredEntry> {
  const { store } = operator;
  const projectId = project.id;
  const kind = await findBinKind({ db: store.db, projectId }, id);
  const missing = notFound(
    `the bin has no entry with the ID ${quote(id)}; waypost bin list shows the IDs`,
  );
  if (kind === undefined) throw missing;
  const entry = await journal(
    operator,
    { tool: "bin restore", realm: projectId, kind, id, name: null, isRestore: true },
    () =>
      store.write(async (db) => {
        const now = operator.clock.now();
        const done = await restoreKind[kind]({ db, projectId }, project, id, now);
        if (done === undefined) throw missing;
        return { kind, ...done };
      }),
    ({ restored }) => ({ id, name: restored.name, before: null, after: restored }),
  );
  if (entry.task !== undefined) await store.finishTask(entry.task, longestTask_ms);
  return entry;
}

type RestoreKind = (
  tenant: Tenant,
  project: StoredProject,
  id: string,
  now: number,
) => Promise<Omit<RestoredEntry, "kind"> | undefined>;

const restoreKind: Readonly<Record<BinKind, RestoreKind>> = {
  link: async (tenant, project, id, now) => {
    const restored = await restoreDeletedLink(tenant, project, id, now);
    return restored && { restored };
  },
  ios_app: (tenant, _, id, now) => restoreApp(tenant, iosAppKind.apps, id, now),
  android_app: (tenant, _, id, now) => restoreApp(tenant, androidAppKind.apps, id, now),
};

async function restoreApp<App extends IosApp | AndroidApp>(
  ...args: Parameters<typeof restoreDeletedApp<App>>
) {
  const done = await restoreDeletedApp(...args);
  return done && { restored: done.app, task: done.task };
}
