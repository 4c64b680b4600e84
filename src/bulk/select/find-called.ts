import type { FilterInput } from "../../contract/filters.ts";
import { pickNamed } from "../../contract/rules/named-records.ts";
import { isStorable } from "../../contract/text.ts";

/**
 * The links with exactly this name, in this case, or else in any; if several have it, the name is
 * ambiguous. `listPage` reads the first page of the links that match filters; `hasMore` is whether
 * more pages follow.
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
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const same = pick((await read("eq")).rows);
  if (same.length > 0) return same;
  const { rows, hasMore } = await read("cont");
  // Behind what was read there may be another one of the same name.
  return hasMore ? [] : pick(rows);
}
