import { andThen, type Awaitable } from "../contract/awaitable.ts";
import type { Link } from "../contract/links.ts";
import { prepareQuery } from "./prepared-query.ts";
import { findQueryOf } from "./short-paths.ts";
import { shownColumns, toLink } from "./shown-link.ts";
import type { Tenant } from "./tenant.ts";

/** A link as it is visited at one of its addresses. */
export type VisitedAt = {
  readonly link: Link;
  /** What its short path stands for beside the link, as if it had been typed; mostly nothing. */
  readonly query: string;
};

/** What a visit of a path finds. */
export async function findVisited(tenant: Tenant, path: string): Promise<VisitedAt | undefined> {
  const link = await findLinkAt(tenant, path);
  if (link === undefined) return undefined;
  // Every other path of a link belongs to a query, which the visit adds.
  const isOwnPath = path === link.path || path === link.shortened_path;
  const query = isOwnPath ? "" : await findQueryOf(tenant, { linkId: link.id, path });
  return { link, query };
}

/** The link that answers at a path or a shortened path. */
export function findLinkAt(
  { db, projectId }: Tenant,
  address: string,
): Awaitable<Link | undefined> {
  return andThen(selectAt(db, [projectId, address]), (row) => row && toLink(row));
}

const selectAt = prepareQuery((db) =>
  db
    .selectFrom("addresses")
    .innerJoin("links", (join) =>
      join
        .onRef("links.project_id", "=", "addresses.project_id")
        .onRef("links.id", "=", "addresses.link_id"),
    )
    .select(shownColumns)
    .where("addresses.project_id", "=", "")
    .where("addresses.address", "=", ""),
);
