import { contract } from "../../../contract/index.ts";
import type { JsonObject } from "../../../contract/json.ts";
import type { ReadLink } from "../../../contract/links.ts";
import type { ResourceKind } from "../../../contract/resource-kind.ts";
import { readIfAllowed } from "../../results/tool-failure.ts";
import type { Call } from "../tool.ts";

/** The links that hang on a target: how many, and those that most visitors follow. */
export type TouchedLinks = {
  /** Left out where the deployment does not count them. */
  readonly count?: number;
  readonly best: readonly ReadLink[];
};

/** The filters that find an app's links, by the app's kind. */
export const appFilters: Readonly<Record<string, string>> = {
  ios_app: "ios_app_bundle_id",
  android_app: "android_app_package_name",
};
const mostBest = 3;

/** The filter that finds the links of a target; undefined where no links hang on it. */
export function findTouching(kind: ResourceKind, record: JsonObject) {
  const field = appFilters[kind.name];
  const value = record[kind.key ?? ""];
  if (field === undefined || typeof value !== "string") return undefined;
  return { field, condition: "eq", value } as const;
}

/** Undefined where no links hang on the target, or where the key may not list them. */
export async function readTouched(
  kind: ResourceKind,
  record: JsonObject,
  { ask }: Pick<Call, "ask">,
): Promise<TouchedLinks | undefined> {
  const filter = findTouching(kind, record);
  if (filter === undefined) return undefined;
  const sort = { field: "clicks", direction: "desc" } as const;
  const wanted = { filters: [filter], sort, limit: mostBest };
  const page = await readIfAllowed(() => ask(contract.links.index, wanted));
  const { count } = page?.meta ?? {};
  return page && { ...(typeof count === "number" && { count }), best: page.links };
}
