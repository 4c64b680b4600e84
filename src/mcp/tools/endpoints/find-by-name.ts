import type { JsonObject } from "../../../contract/json.ts";
import { paging } from "../../../contract/limits.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { pickNamed } from "../../../contract/rules/named-resource.ts";
import { fold } from "../../../contract/text.ts";
import type { Call } from "../tool.ts";
import { listPage, listRows, readText, type Found, type ListedPage } from "./found-rows.ts";

/**
 * The app or project that a text names: by what tells exactly one, else by its name. A project has
 * few apps, so that one page of their list mostly answers every way to name one.
 */

type Asking = Pick<Call, "ask">;

/** Of more than so many projects not all are looked through. */
const mostPages = 5;

export async function findByName(kind: ResourceKind, given: string, call: Asking): Promise<Found> {
  const text = given.trim().normalize("NFC");
  const { names, key } = kind;
  // The last of its names is the one that no other has.
  const unique = names.at(-1) ?? "";
  const first = await listPage(kind.index, { limit: paging.max_limit }, call);
  const known = pickUnique(first.rows, unique, text);
  if (known.length > 0) return { rows: known, near: undefined };
  const rest = await (key === undefined
    ? readProjects(kind, first, call)
    : readApps(kind, first, text, call));
  return pickBest(kind, rest, text);
}

/** Whoever has many apps is asked by the deployment's own filters. */
async function readApps(
  { index, key = "" }: ResourceKind,
  first: ListedPage,
  value: string,
  call: Asking,
): Promise<ListedPage> {
  if (!first.hasMore) return first;
  const ask = (field: string, condition: "eq" | "cont") =>
    listPage(index, { filters: [{ field, condition, value }], limit: paging.max_limit }, call);
  const byKey = await ask(key, "eq");
  if (pickUnique(byKey.rows, key, value).length > 0) return byKey;
  return ask("name", "cont");
}

/** The API has no filters for projects. */
async function readProjects(
  { index }: ResourceKind,
  first: ListedPage,
  call: Asking,
): Promise<ListedPage> {
  const rows = [...first.rows];
  let { hasMore } = first;
  for (let page = 2; page <= mostPages && hasMore; page += 1) {
    const next = await listPage(index, { page, limit: paging.max_limit }, call);
    rows.push(...next.rows);
    ({ hasMore } = next);
  }
  return { rows, hasMore };
}

function pickBest({ names }: ResourceKind, page: ListedPage, text: string): Found {
  const { rows, hasMore } = page;
  const [name = "", unique = ""] = names;
  const byUnique = pickUnique(rows, unique, text);
  if (byUnique.length > 0) return { rows: byUnique, near: undefined };
  const found = pickNamed(rows, text, {
    unique: (row) => readText(row, unique),
    name: (row) => readText(row, name),
  });
  // Behind what was read there may be another one of the same name.
  if (found.length > 0 && !hasMore) return { rows: found, near: undefined };
  const folded = fold(text);
  const near = rows.filter((row) =>
    names.some((field) => fold(readText(row, field)).includes(folded)),
  );
  return { rows: [], near };
}

function pickUnique(rows: readonly JsonObject[], field: string, text: string) {
  return rows.filter((row) => readText(row, field).normalize("NFC") === text);
}

/** Links by a text in their paths. */
export async function listNearLinks(
  { index, key = "" }: ResourceKind,
  value: string,
  limit: number,
  call: Asking,
): Promise<readonly JsonObject[]> {
  if (value.trim() === "") return [];
  const wanted = fold(value);
  const filters = [{ field: key, condition: "cont" as const, value }];
  const found = await listRows(index, { filters, limit }, call);
  return found.filter((row) => fold(readText(row, key)).includes(wanted));
}
