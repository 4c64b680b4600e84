import type { Endpoint } from "../contract/endpoint.ts";
import { contract } from "../contract/index.ts";
import type { JsonObject } from "../contract/json.ts";
import { paging } from "../contract/limits.ts";
import { validationFailed } from "../contract/problem.ts";
import { findKind, type ResourceKind } from "../contract/resource-kind.ts";
import { fold } from "../contract/text.ts";
import { toProblem } from "../service/respond.ts";
import { countBin, findInBin, listBin, type BinEntry } from "../store/bin.ts";
import type { BinKind, Tenant } from "../store/tables.ts";
import { mayChange, readNoting, readOwn, type Acting, type ConsoleAct } from "./console-act.ts";
import { clock } from "./embedded.ts";
import { journalAct } from "./journal-command.ts";

/** The bin of the store: what was deleted, in whichever way, and the way back. */

export const binActs: Readonly<Record<string, ConsoleAct>> = {
  list_bin: { isThere: (acting) => listSeen(acting).length > 0, run: listDeleted },
  restore_deleted: {
    isThere: (acting) => listSeen(acting).some((kind) => mayRestore(kind, acting)),
    run: restoreAll,
  },
};

type Restorable = Readonly<Record<"index" | "create" | "restore", Endpoint>>;

const endpoints = {
  link: contract.links,
  ios_app: contract.iosApps,
  android_app: contract.androidApps,
} as const satisfies Record<BinKind, Restorable>;
const binKinds = Object.keys(endpoints) as readonly BinKind[];

/** What the key may list while it is there it may list when it is deleted. */
function listSeen({ deployment, keyContext }: Acting): readonly BinKind[] {
  if (deployment.own === undefined || keyContext.known.projectId === undefined) return [];
  return binKinds.filter((kind) => keyContext.mayAsk(endpoints[kind].index));
}

function mayRestore(kind: BinKind, acting: Acting): boolean {
  const { access, isActAllowed } = acting.keyContext;
  const { create, restore } = endpoints[kind];
  return mayChange(acting) && isActAllowed(create) && access.read(restore).state === "granted";
}

const perPage = 25;
/** So many of those that were deleted last are searched. */
const mostSearched = 10_000;
const searchedAtOnce = 1000;

async function listDeleted(args: JsonObject, acting: Acting): Promise<JsonObject> {
  const seen = listSeen(acting);
  const kinds = seen.filter((kind) => args["kind"] === undefined || args["kind"] === kind);
  const page = Number(args["page"] ?? 1);
  const search = typeof args["search"] === "string" ? args["search"].trim() : "";
  const part = { offset: (page - 1) * perPage, limit: perPage, kinds };
  const tenant = readTenant(acting);
  const now = clock.now();
  const [count, entries] =
    search === ""
      ? await Promise.all([
          countBin(tenant, now, { kinds, most: paging.most_counted }),
          listBin(tenant, now, part),
        ])
      : await searchBin(tenant, search, part);
  const bin = entries.map((entry) => present(entry, acting));
  return { bin, meta: { page, limit: perPage, count, last: Math.ceil(count / perPage) } };
}

/** Text by text, without what is folded for the search of links: a bin has no index of its own. */
async function searchBin(
  tenant: Tenant,
  search: string,
  { offset, limit, kinds }: { offset: number; limit: number; kinds: readonly BinKind[] },
): Promise<readonly [number, readonly BinEntry[]]> {
  const wanted = fold(search.replace(/^\//, ""));
  const now = clock.now();
  const found: BinEntry[] = [];
  for (let from = 0; from < mostSearched; from += searchedAtOnce) {
    const some = await listBin(tenant, now, { offset: from, limit: searchedAtOnce, kinds });
    found.push(...some.filter((entry) => hasText(entry, wanted)));
    if (some.length < searchedAtOnce) break;
  }
  return [found.length, found.slice(offset, offset + limit)];
}

function hasText({ id, kind, row }: BinEntry, wanted: string): boolean {
  const texts = [row["name"], row[findResource(kind).key ?? ""], row["url"], id];
  return texts.some((text) => typeof text === "string" && fold(text).includes(wanted));
}

function findResource(kind: BinKind): ResourceKind {
  return findKind(endpoints[kind].index);
}

function present({ kind, id, row, deleted_at, until }: BinEntry, acting: Acting): JsonObject {
  return {
    kind,
    id,
    name: row["name"],
    identifier: row[findResource(kind).key ?? ""],
    deleted_at: new Date(deleted_at).toISOString(),
    until: new Date(until).toISOString(),
    can_restore: mayRestore(kind, acting),
  };
}

function readTenant(acting: Acting): Tenant {
  // Where there is no project there is no bin to be listed.
  return { db: readOwn(acting).store.db, projectId: acting.keyContext.known.projectId ?? "" };
}

/** A page of the list has fewer. */
const mostAtOnce = 100;

/** Each by itself: what cannot come back keeps none of the others from it. */
async function restoreAll({ items }: JsonObject, acting: Acting): Promise<JsonObject> {
  const wanted = (Array.isArray(items) ? items : []).slice(0, mostAtOnce).map(String);
  const failed: JsonObject[] = [];
  for (const item of wanted) {
    const failure = await restoreOne(item, acting);
    if (failure !== undefined) failed.push(failure);
  }
  return { restored: wanted.length - failed.length, failed };
}

/** Why it did not come back, and what it is called; undefined where it did. */
async function restoreOne(item: string, acting: Acting): Promise<JsonObject | undefined> {
  const [, given, id = ""] = /^(\w+):([^]+)$/.exec(item) ?? [];
  const kind = listSeen(acting).find((each) => each === given);
  if (kind === undefined || !mayRestore(kind, acting)) return gone;
  const deleted = await findInBin<JsonObject>(readTenant(acting), kind, id, clock.now());
  if (deleted === undefined) return gone;
  const { row } = deleted;
  const texts = [row["name"], row[findResource(kind).key ?? ""]];
  const name = texts.find((text) => typeof text === "string" && text !== "");
  try {
    refuseForeign(kind, row, acting);
    await bringBack(kind, id, typeof name === "string" ? name : null, acting);
    return undefined;
  } catch (error) {
    return { name, message: toProblem(error, acting.report).message };
  }
}

const gone = { message: "It is no longer in the bin." };

/** A link that comes back leads where it led: the operator's list of hosts may be shorter now. */
function refuseForeign(kind: BinKind, row: JsonObject, { keyContext }: Acting): void {
  if (kind !== "link") return;
  const problems = keyContext.checkDestinations(row, {});
  if (problems.length > 0) throw validationFailed(problems);
}

async function bringBack(
  kind: BinKind,
  id: string,
  name: string | null,
  acting: Acting,
): Promise<void> {
  const { keyContext } = acting;
  const { restore } = endpoints[kind];
  const noting = await readNoting(acting);
  const { realm } = keyContext;
  await journalAct(
    noting,
    { tool: restore.tool, realm, kind, id, name, isRestore: true },
    async () => keyContext.call<Endpoint>(restore, { id }),
    // Each of these endpoints answers what it has brought back.
    (restored) => ({ id, name, before: null, after: restored as unknown as JsonObject }),
  );
}
