import type { FilterInput } from "../../contract/filters.ts";
import { pickNamed } from "../../contract/rules/named-resource.ts";
import { fold, isStorable } from "../../contract/text.ts";

/** Links by their own name: in this case, or else in any. */

/**
 * `rows` are the links with exactly this name; if several have it, the name is ambiguous. If none
 * has it, `near` are those whose names contain the text. `listPage` reads the first page of the
 * links that match filters; `hasMore` is whether more pages follow.
 */
export async function findCalled<Link extends Named>(
  given: string,
  listPage: (filters: readonly FilterInput[]) => Promise<{
    readonly rows: readonly Link[];
    readonly hasMore: boolean;
  }>,
): Promise<{ readonly rows: readonly Link[]; readonly near: readonly Link[] }> {
  const value = given.trim();
  if (value === "" || !isStorable(value)) return { rows: [], near: [] };
  const read = (condition: "eq" | "cont") => listPage([{ field: "name", condition, value }]);
  // A deployment that ignores filters answers with all, so that the rows are compared here too.
  const same = pickNamed((await read("eq")).rows, value, byName);
  if (same.length > 0) return { rows: same, near: [] };
  const { rows: others, hasMore } = await read("cont");
  const found = pickNamed(others, value, byName);
  // Behind what was read there may be another one of the same name.
  if (found.length > 0 && !hasMore) return { rows: found, near: [] };
  const near = others.filter((link) => fold(readName(link)).includes(fold(value)));
  return { rows: [], near };
}

type Named = { readonly name?: unknown };

function readName({ name }: Named): string {
  return typeof name === "string" ? name : "";
}

const byName = { unique: () => "", name: readName };
