import { sql } from "kysely";
import {
  dayHours,
  otherReferrers,
  withOtherReferrer,
  type LinkVisits,
  type VisitKind,
} from "../stats/visit.ts";
import type { Tenant } from "./tenant.ts";

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
  const known = await readHostsOfFull(tenant, visits);
  const limit = (linkId: string, kind: VisitKind): VisitKind => {
    if (!hasHost(kind)) return kind;
    const key = `${linkId} ${findDay(kind)}`;
    const hosts = known.get(key) ?? new Set();
    if (!hosts.has(kind.referrer) && hosts.size >= mostOfLink) return withOtherReferrer(kind);
    known.set(key, hosts.add(kind.referrer));
    return kind;
  };
  return visits.map(({ kinds, ...visit }) => {
    const kept = kinds.map(({ kind, count }) => ({ kind: limit(visit.linkId, kind), count }));
    return { ...visit, kinds: kept };
  });
}

/** By link and day; only of links that may have too many with these visits. */
async function readHostsOfFull(tenant: Tenant, visits: readonly LinkVisits[]) {
  const referred = visits.filter(({ kinds }) => kinds.some(({ kind }) => hasHost(kind)));
  const hosts = new Map<string, Set<string | undefined>>();
  if (referred.length === 0) return hosts;
  const most = Math.max(...referred.map(({ kinds }) => kinds.length));
  const ids = referred.map(({ linkId }) => linkId);
  const known = selectHosts(tenant, listDays(visits), ids).select(({ fn }) => [
    "link_id",
    "hour",
    "value",
    fn
      .countAll<number>()
      .over((over) => over.partitionBy(["link_id", "hour"]))
      .as("hosts"),
  ]);
  const full = tenant.db.selectFrom(known.as("known")).select(["link_id", "hour", "value"]);
  for (const row of await full.where("hosts", ">", mostOfLink - most).execute()) {
    const key = `${row.link_id} ${row.hour}`;
    hosts.set(key, (hosts.get(key) ?? new Set()).add(row.value));
  }
  return hosts;
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
      .orderBy(sql`clicks + opens + installs`, "desc")
      .orderBy("value")
      .limit(mostRemoved)
      .offset(mostOfProject)
      .execute();
    const hosts = rows.map(({ value }) => value);
    if (hosts.length > 0) await joinHosts(tenant, day, hosts);
  }
}

async function joinHosts({ db, projectId }: Tenant, day: number, hosts: readonly string[]) {
  const areTheirs = sql`
    project_id = ${projectId} and unit in ('hour', 'day') and dimension = 'referrer'
      and hour >= ${day} and hour < ${day + dayHours} and link_id = ''
      and value in (${sql.join(hosts)})
  `;
  await sql`
    insert into visit_counts
      (project_id, unit, dimension, hour, link_id, value, clicks, opens, installs)
    select project_id, unit, dimension, hour, link_id, ${otherReferrers},
      sum(clicks), sum(opens), sum(installs)
    from visit_counts where ${areTheirs}
    group by project_id, unit, dimension, hour, link_id ${addToKnown}
  `.execute(db);
  await sql`delete from visit_counts where ${areTheirs}`.execute(db);
}

/** What is counted already stays, and the new counts are added. */
export const addToKnown = sql`
  on conflict (project_id, unit, dimension, hour, link_id, value) do update set
    clicks = visit_counts.clicks + excluded.clicks,
    opens = visit_counts.opens + excluded.opens,
    installs = visit_counts.installs + excluded.installs
`;

function selectHosts({ db, projectId }: Tenant, days: readonly number[], links: readonly string[]) {
  return db
    .selectFrom("visit_counts")
    .where("project_id", "=", projectId)
    .where("unit", "=", "day")
    .where("dimension", "=", "referrer")
    .where("hour", "in", days)
    .where("link_id", "in", links)
    .where("value", "<>", otherReferrers);
}

/** The days of UTC of visits with a referring host, by their first hours. */
function listDays(visits: readonly LinkVisits[]): readonly number[] {
  const kinds = visits.flatMap((visit) => visit.kinds.map(({ kind }) => kind));
  return [...new Set(kinds.filter(hasHost).map(findDay))];
}

function hasHost({ referrer }: VisitKind): boolean {
  return referrer !== undefined && referrer !== otherReferrers;
}

function findDay({ hour }: VisitKind): number {
  return hour - (hour % dayHours);
}
