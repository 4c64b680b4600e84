import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { prepareRows } from "./prepared-query.ts";
import { shownColumns, toLink } from "./shown-link.ts";
import type { Tenant } from "./tenant.ts";

/** The links that answer at paths and shortened paths: one statement for many of them. */
export async function findLinksAt(
  { db, projectId }: Tenant,
  addresses: readonly string[],
): Promise<ReadonlyMap<string, Link>> {
  const found = new Map<string, Link>();
  for (let start = 0; start < addresses.length; start += mostAtOnce) {
    const some = addresses.slice(start, start + mostAtOnce);
    const { size, select } = selects.find((one) => one.size >= some.length) ?? largest;
    // What is asked for twice is found once.
    while (some.length < size) some.push(some[0] ?? "");
    for (const row of await select(db, [projectId, ...some])) found.set(row.address, toLink(row));
  }
  return found;
}

/** The link that answers at a path or a shortened path. */
export function findLinkAt(
  { db, projectId }: Tenant,
  address: string,
): Awaitable<Link | undefined> {
  return andThen(selectOne(db, [projectId, address]), ([row]) => row && toLink(row));
}

const mostAtOnce = 64;
const selectOne = prepareLinksAt(1);
const largest = { size: mostAtOnce, select: prepareLinksAt(mostAtOnce) };
/** One for each number would be prepared anew all the time, and a large one is slow for few. */
const selects = [
  { size: 1, select: selectOne },
  ...[2, 4, 6, 8, 10, 12, 16, 32].map((size) => ({ size, select: prepareLinksAt(size) })),
  largest,
];

function prepareLinksAt(size: number) {
  return prepareRows((db) =>
    db
      .selectFrom("addresses")
      .innerJoin("links", (join) =>
        join
          .onRef("links.project_id", "=", "addresses.project_id")
          .onRef("links.id", "=", "addresses.link_id"),
      )
      .select("addresses.address")
      .select(shownColumns.map((column) => `links.${column}` as const))
      .where("addresses.project_id", "=", "")
      .where(
        "addresses.address",
        "in",
        Array.from({ length: size }, () => ""),
      ),
  );
}
