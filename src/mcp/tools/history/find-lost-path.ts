import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { findKind } from "../../../contract/resource-kind.ts";
import { findNewPathFault, normalizeForSearch } from "../../../contract/rules/link-path.ts";
import type { Reading } from "../endpoints/find-record.ts";

const linkKind = findKind(contract.links.show).name;

/** Why a link that gets another path cannot get its old one again; undefined where it can. */
export function findLostPath(kind: string, before: Reading, to: JsonObject): string | undefined {
  const path = before?.["path"];
  if (kind !== linkKind || typeof path !== "string" || typeof to["path"] !== "string") {
    return undefined;
  }
  if (findNewPathFault(path) === undefined) return undefined;
  if (normalizeForSearch(to["path"]) === path) return undefined;
  return "Its old path has a ? or # in it, which no link can get any more: it is not put back.";
}
