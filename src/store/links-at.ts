import { sql } from "kysely";
import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { prepareRows } from "./prepared-query.ts";
import { leadingColumns, toLeadingLink, type LeadingLink } from "./leading-link.ts";
import { shownColumns, toLink, type ShownLink } from "./shown-link.ts";
import type { Tenant } from "./tenant.ts";

/**
 * The links that answer at paths and shortened paths, in the order of these: one statement for many
 * of them.
 */
export async function findLinksAt(
  { db, projectId }: Tenant,
  addresses: readonly string[],
): Promise<readonly (LeadingLink | undefined)[]> {
  const found: (LeadingLink | undefined)[] = addresses.map(() => undefined);
  for (let start = 0; start < addresses.length; start += mostAtOnce) {
    const some: (string | null)[] = addresses.slice(start, start + mostAtOnce);
    const { size, select } = selects.find((one) => one.size >= some.length) ?? largest;
    // Nothing is there, and nothing is looked up.
    while (some.length < size) some.push(null);
    for (const row of await select(db, [...some, projectId])) {
      found[start + row.place] = toLeadingLink(row);
    }
  }
  return found;
}

/** The link that answers at a path or a shortened path. */
export function findLinkAt(
  { db, projectId }: Tenant,
  address: string,
): Awaitable<Link | undefined> {
  return andThen(selectOne(db, [address, projectId]), ([row]) => row && toLink(row));
}

const mostAtOnce = 64;
const selectOne = prepareLinksAt(1, shownColumns);
const largest = { size: mostAtOnce, select: prepareLinksAt(mostAtOnce, leadingColumns) };
/** One for each number would be prepared anew all the time, and a large one is slow for few. */
const selects = [
  ...[1, 2, 4, 6, 8, 10, 12, 16, 32].map((size) => ({
    size,
    select: prepareLinksAt(size, leadingColumns),
  })),
  largest,
];

type FoundAt<Column extends keyof ShownLink> = Pick<ShownLink, Column> & {
  /** Of its address among those that were asked for. */
  readonly place: number;
};

/** Joined in this order: SQLite would sort a list of addresses first. */
function prepareLinksAt<Column extends keyof ShownLink>(size: number, shown: readonly Column[]) {
  const asked = Array.from(
    { length: size },
    (_, place) => sql`(${sql.lit(place)}, cast(${""} as text))`,
  );
  const columns = shown.map((column) => sql.ref(`links.${column}`));
  return prepareRows(
    () => sql<FoundAt<Column>>`
      with asked (place, address) as (values ${sql.join(asked)})
      select asked.place, ${sql.join(columns)}
      from asked cross join addresses cross join links
      where addresses.address = asked.address and addresses.project_id = ${""}
        and links.project_id = addresses.project_id and links.id = addresses.link_id
    `,
  );
}
