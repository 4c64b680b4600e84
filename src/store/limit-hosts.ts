import { sql } from "kysely";
import {
  dayHours,
  hourColumns,
  otherReferrers,
  withOtherReferrer,
  type LinkVisits,
  type VisitKind,
} from "../stats/visit.ts";
import type { Tenant } from "./tables.ts";

/** Strangers can make up any number of referring hosts, so a day keeps only some of them. */

const mostOfLink = 100;
const mostOfProject = 1000;
/** The most that are removed in one transaction. */
const mostRemoved = 5000;

/** A link keeps the hosts that come first on a day. Visits from others count as `other`. */
export async function limitLinkHosts(
  tenant: Tenant,
  visits: readonly LinkVisits[],
): Promise<readonly LinkVisits[]> {
  const known = await readKnownHosts(tenant, visits);
  return visits.map((visit) => {
    const { linkId, kinds } = visit;
    const hosts = known.get(linkId) ?? new Map<number, Set<string>>();
    if (hosts.size === 0 && kinds.length <= mostOfLink) return visit;
    return { ...visit, kinds: kinds.map((one) => ({ ...one, kind: limitHost(one.kind, hosts) })) };
  });
}

function limitHost(kind: VisitKind, known: Map<number, Set<string>>): VisitKind {
  const { referrer } = kind;
  if (referrer === undefined || referrer === otherReferrers) return kind;
  const hosts = known.get(findDay(kind)) ?? new Set();
  known.set(findDay(kind), hosts);
  if (!hosts.has(referrer) && hosts.size >= mostOfLink) return withOtherReferrer(kind);
  hosts.add(referrer);
  return kind;
}

/** By link and day, of the links that may have too many with these visits. */
async function readKnownHosts(tenant: Tenant, visits: readonly LinkVisits[]) {
  const byLink = new Map<string, Map<number, Set<string>>>();
  const referred = visits.filter(({ kinds }) => kinds.some(({ kind }) => hasHost(kind)));
  if (referred.length === 0) return byLink;
  const most = Math.max(...referred.map(({ kinds }) => kinds.length));
  const ids = referred.map(({ linkId }) => linkId);
  const counted = selectHosts(tenant, listDays(referred), ids)
    .select(["link_id", "day", "value"])
    .select(({ fn }) =>
      fn
        .countAll<number>()
        .over((over) => over.partitionBy(["link_id", "day"]))
        .as("hosts"),
    );
  const full = tenant.db.selectFrom(counted.as("counted")).selectAll();
  for (const row of await full.where("hosts", ">", mostOfLink - most).execute()) {
    const byDay = byLink.get(row.link_id) ?? new Map<number, Set<string>>();
    byLink.set(row.link_id, byDay);
    byDay.set(row.day, (byDay.get(row.day) ?? new Set()).add(row.value));
  }
  return byLink;
}

/**
 * A project keeps the hosts with the most visits of a day: those that are made up for one link must
 * not hide another link's. The rest is added up as `other`.
 */
export async function limitProjectHosts(
  tenant: Tenant,
  visits: readonly LinkVisits[],
): Promise<void> {
  for (const day of listDays(visits)) {
    const rows = await selectHosts(tenant, [day], [""])
      .select("value")
      .groupBy("value")
      .orderBy(sql`sum(visits)`, "desc")
      .orderBy("value")
      .limit(mostRemoved)
      .offset(mostOfProject)
      .execute();
    const hosts = rows.map(({ value }) => value);
    if (hosts.length > 0) await joinHosts(tenant, day, hosts);
  }
}

async function joinHosts({ db, projectId }: Tenant, day: number, hosts: readonly string[]) {
  const columns = ["visits", ...hourColumns].map((column) => sql.ref(column));
  const added = columns.map(
    (column) =>
      sql`${column} = coalesce(visit_counts.${column}, 0) + coalesce(excluded.${column}, 0)`,
  );
  const areTheirs = sql`
    project_id = ${projectId} and dimension = 'referrer' and day = ${day} and link_id = ''
      and value in (${sql.join(hosts)})
  `;
  await sql`
    insert into visit_counts
      (project_id, dimension, day, link_id, value, event, ${sql.join(columns)})
    select project_id, dimension, day, link_id, ${otherReferrers}, event,
      ${sql.join(columns.map((column) => sql`sum(${column})`))}
    from visit_counts where ${areTheirs}
    group by project_id, dimension, day, link_id, event
    on conflict (project_id, dimension, day, link_id, value, event) do update set
      ${sql.join(added)}
  `.execute(db);
  await sql`delete from visit_counts where ${areTheirs}`.execute(db);
}

function selectHosts({ db, projectId }: Tenant, days: readonly number[], links: readonly string[]) {
  return db
    .selectFrom("visit_counts")
    .where("project_id", "=", projectId)
    .where("dimension", "=", "referrer")
    .where("day", "in", days)
    .where("link_id", "in", links)
    .where("value", "<>", otherReferrers);
}

/** The days of UTC of visits with a referring host. */
function listDays(visits: readonly LinkVisits[]): readonly number[] {
  const kinds = visits.flatMap((visit) => visit.kinds.map(({ kind }) => kind));
  return [...new Set(kinds.filter(hasHost).map(findDay))];
}

function hasHost({ referrer }: VisitKind): boolean {
  return referrer !== undefined && referrer !== otherReferrers;
}

function findDay({ hour }: VisitKind): number {
  return Math.floor(hour / dayHours);
}
