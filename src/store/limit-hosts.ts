import { sql } from "kysely";
import { hourColumns, otherReferrers } from "../stats/visit.ts";
import type { Tenant } from "./tables.ts";

/** Strangers can make up any number of referring hosts, so a day keeps only some of them. */

const mostOfLink = 100;
const mostOfProject = 1000;
/** The most that are removed in one transaction. */
const mostRemoved = 5000;

/**
 * Of one day, links keep the hosts with the most visits each, and the project keeps its own: what
 * is made up for one link hides no other link's. The rest is added up as `other`.
 */
export async function limitHosts(
  tenant: Tenant,
  day: number,
  linkIds: readonly string[],
): Promise<void> {
  // A link has no hosts that its project lacks, so on most days no link has to be looked at.
  const hosts = await findHostsBeyond(tenant, day, [""], mostOfLink);
  if (hosts.length === 0) return;
  const ofLinks = await findHostsBeyond(tenant, day, linkIds, mostOfLink);
  const beyond = [...hosts.slice(mostOfProject - mostOfLink), ...ofLinks];
  if (beyond.length > 0) await joinHosts(tenant, day, beyond);
}

type LinkHost = { readonly link_id: string; readonly value: string };

async function findHostsBeyond(
  { db, projectId }: Tenant,
  day: number,
  linkIds: readonly string[],
  most: number,
): Promise<readonly LinkHost[]> {
  const { rows } = await sql<LinkHost>`
    select link_id, value from (
      select link_id, value,
        row_number() over (partition by link_id order by sum(visits) desc, value) as place
      from visit_counts
      where project_id = ${projectId} and dimension = 'referrer' and first_day = ${day}
        and link_id in (${sql.join(linkIds)}) and value <> ${otherReferrers}
      group by link_id, value
    ) as hosts
    where place > ${most} order by place limit ${mostRemoved}
  `.execute(db);
  return rows;
}

async function joinHosts({ db, projectId }: Tenant, day: number, hosts: readonly LinkHost[]) {
  const columns = ["visits", ...hourColumns].map((column) => sql.ref(column));
  const added = columns.map(
    (column) =>
      sql`${column} = coalesce(visit_counts.${column}, 0) + coalesce(excluded.${column}, 0)`,
  );
  const names = hosts.map(({ link_id, value }) => sql`(${link_id}, ${value})`);
  const areTheirs = sql`
    project_id = ${projectId} and dimension = 'referrer' and first_day = ${day}
      and (link_id, value) in (values ${sql.join(names)})
  `;
  await sql`
    insert into visit_counts
      (project_id, dimension, first_day, link_id, value, event, ${sql.join(columns)})
    select project_id, dimension, first_day, link_id, ${otherReferrers}, event,
      ${sql.join(columns.map((column) => sql`sum(${column})`))}
    from visit_counts where ${areTheirs}
    group by project_id, dimension, first_day, link_id, event
    on conflict (project_id, dimension, first_day, link_id, value, event) do update set
      ${sql.join(added)}
  `.execute(db);
  await sql`delete from visit_counts where ${areTheirs}`.execute(db);
}
