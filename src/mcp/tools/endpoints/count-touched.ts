import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** The filters that find an app's links, by the app's kind. */
export const appFilters: Readonly<Record<string, string>> = {
  ios_app: "ios_app_bundle_id",
  android_app: "android_app_package_name",
};

/**
 * How many links the end of a target would touch: a yes that was given for some does not count for
 * more. Nothing where it touches none, or where the key may not list them.
 */
export async function countTouched(
  kind: ResourceKind,
  record: JsonObject,
  { ask }: Pick<Call, "ask">,
): Promise<readonly number[]> {
  const field = appFilters[kind.name];
  const value = record[kind.key ?? ""];
  if (field === undefined || typeof value !== "string") return [];
  const filters = [{ field, condition: "eq", value } as const];
  const page = await readIfAllowed(() => ask(contract.links.index, { filters, limit: 1 }));
  return page === undefined ? [] : [page.meta.count];
}
