import { listUnreadRows } from "../../../contract/deviations.ts";
import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind, type ResourceKind } from "../../../contract/resource-kind.ts";
import { decodeForSearch, normalizeForSearch } from "../../../contract/rules/link-path.ts";
import { readListRows } from "../../results/present-body.ts";
import { readIfAllowed, ToolFailure } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** One record of a kind, as it is now, before it is written to. */

/** A record, null for none, and undefined for what the key may not read, or nobody can. */
export type Reading = JsonObject | null | undefined;

type Asking = Pick<Call, "ask">;

export async function readRecord(
  { show }: ResourceKind,
  id: string,
  { ask }: Asking,
): Promise<Reading> {
  try {
    const body: unknown = await readIfAllowed(() => ask(show, { id }));
    return body as JsonObject | undefined;
  } catch (error) {
    if (error instanceof ToolFailure && error.failure.code === "not_found") return null;
    throw error;
  }
}

/** By the field that, beside the UUID, tells exactly one. */
export async function findRecord(
  kind: ResourceKind,
  value: string,
  { ask }: Asking,
): Promise<Reading> {
  const { index, key = "" } = kind;
  const wanted = normalize(kind, value);
  // A remote server may tell `spring/` from `spring`, so the slash is sent.
  const sent = kind.name === linkKind ? decodeForSearch(value) : value;
  const filters = [{ field: key, condition: "eq", value: sent } as const];
  const page: unknown = await readIfAllowed(() => ask(index, { filters }));
  if (page === undefined) return undefined;
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const rows = readListRows(index, page as JsonObject);
  const isWanted = (row: JsonObject) =>
    typeof row["id"] === "string" && normalize(kind, row[key]) === wanted;
  const found = rows.find(isWanted);
  if (found !== undefined) return found;
  // What could not be read may be the one that is looked for.
  const isPartial =
    listUnreadRows(page as object).length > 0 || rows.some((row) => row[key] === undefined);
  return isPartial ? undefined : null;
}

const linkKind = findKind(contract.links.show).name;

/** Paths are the same in more than one way of writing; identifiers of apps are not. */
function normalize<Value>({ name }: ResourceKind, value: Value): Value | string {
  return name === linkKind && typeof value === "string" ? normalizeForSearch(value) : value;
}
