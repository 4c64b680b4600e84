import { sql, type RawBuilder, type SqlBool } from "kysely";
import { addUp, isNone, noVisits, subtract, type Sum } from "../stats/sums.ts";
import {
  dayHours,
  findMonth,
  hourColumns,
  otherReferrers,
  day_ms,
  hour_ms,
  pressSource,
  usualValues,
  type Dimension,
  type LinkVisits,
  type VisitFact,
  type HourColumn,
  type VisitEvent,
} from "../stats/visit.ts";
import type { LinkScope } from "./link-lists.ts";
import { prepareBatches } from "./prepared-query.ts";
import { findTally } from "./projects.ts";
import type { Db, Tenant } from "./tables.ts";
import { queueEvents, type NewEvent } from "./webhooks.ts";

/**
 * Counts visits per link, project and property, and adds clicks to the links, in the caller's
 * transaction. `visits` must be in the order of `compareLinks`.
 */
export async function countVisits(
  db: Db,
  visits: readonly LinkVisits[],
  now: number,
): Promise<void> {
  const projects = [...new Set(visits.map(({ projectId }) => projectId))].toSorted();
  for (const projectId of projects) {
    const tenant = { db, projectId };
    const own = visits.filter((visit) => visit.projectId === projectId);
    const tally = await findTally(tenant);
    // The project is being deleted. Counters added now might never be deleted.
    if (tally === undefined) continue;
    if (tally.webhooks > 0) await queueEvents(tenant, describeClicks(own), now);
    await addCounters(tenant, own);
    for (const [day, linkIds] of listReferred(own)) await limitHosts(tenant, day, linkIds);
  }
  const clicked = visits.filter(({ clicks }) => clicks > 0);
  if (clicked.length > 0) await addClicks(db, clicked);
}

/** Lists the links that had visits with a referring host, by day. */
function listReferred(visits: readonly LinkVisits[]): ReadonlyMap<number, readonly string[]> {
  const byDay = new Map<number, Set<string>>();
  for (const { linkId, kinds } of visits) {
    for (const { kind } of kinds.filter(({ kind }) => kind.referrer !== undefined)) {
      const day = Math.floor(kind.hour / dayHours);
      byDay.set(day, (byDay.get(day) ?? new Set()).add(linkId));
    }
  }
  return new Map([...byDay].map(([day, linkIds]) => [day, [...linkIds]]));
}

/** The maximum number of links per `link.clicked` event, as documented. */
const clickedAtOnce = 500;

function describeClicks(visits: readonly LinkVisits[]): readonly NewEvent[] {
  const links = visits.flatMap(({ linkId: id, clicks }) => (clicks > 0 ? [{ id, clicks }] : []));
  return Array.from({ length: Math.ceil(links.length / clickedAtOnce) }, (_, part) => {
    const some = links.slice(part * clickedAtOnce, (part + 1) * clickedAtOnce);
    return { event: "link.clicked", data: { links: some } };
  });
}

async function addCounters({ db, projectId }: Tenant, visits: readonly LinkVisits[]) {
  /** The values of the rows to write, in one flat list per hour and dimension. */
  const hours = new Map<number, Map<Dimension, CounterCell[]>>();

  function findRows(hour: number, dimension: Dimension): CounterCell[] {
    const groups = hours.get(hour) ?? new Map<Dimension, CounterCell[]>();
    hours.set(hour, groups);
    const rows = groups.get(dimension) ?? [];
    groups.set(dimension, rows);
    return rows;
  }

  function add(linkId: string, kinds: LinkVisits["kinds"]): void {
    for (const { kind, dimension, value, count } of addUpKinds(kinds)) {
      const { hour, what } = kind;
      const day = Math.floor(hour / dayHours);
      const rows = findRows(hour, dimension);
      rows.push(projectId, dimension, day, linkId, value, what, count, count);
      if (dimension !== "total") continue;
      const months = findRows(hour, "month");
      months.push(projectId, "month", findMonth(day), linkId, value, what, count, null);
    }
  }

  add(
    "",
    visits.flatMap(({ kinds }) => kinds),
  );
  for (const { linkId, kinds } of visits) add(linkId, kinds);
  for (const [hour, groups] of [...hours].toSorted(([one], [other]) => one - other)) {
    const sorted = [...groups].toSorted(([one], [other]) => (one < other ? -1 : 1));
    await findUpsert(hour % dayHours)(
      db,
      sorted.flatMap(([, rows]) => rows),
    );
  }
}

type CounterCell = string | number | null;

type ValueCount = {
  readonly kind: LinkVisits["kinds"][number]["kind"];
  readonly dimension: Dimension;
  readonly value: string;
  count: number;
};

/** Combines counters of the same row, because one statement cannot update a row twice. */
function addUpKinds(kinds: LinkVisits["kinds"]): Iterable<ValueCount> {
  const sums = new Map<string, ValueCount>();
  for (const { kind, count } of kinds) {
    for (const [dimension, value] of kind.values) {
      const key = `${kind.hour} ${kind.what} ${dimension} ${value}`;
      const known = sums.get(key);
      if (known === undefined) sums.set(key, { kind, dimension, value, count });
      else known.count += count;
    }
  }
  if (kinds.length <= 1) return sums.values();
  return [...sums].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
}

type Upsert = ReturnType<typeof prepareUpsert>;
const upserts = new Map<number, Upsert>();

function findUpsert(hour: number): Upsert {
  const upsert = upserts.get(hour) ?? prepareUpsert(hour);
  upserts.set(hour, upsert);
  return upsert;
}

function prepareUpsert(hour: number) {
  const column = sql.ref(hourColumns[hour] ?? "");
  const row = sql`(${""}, ${""}, ${0}, ${""}, ${""}, ${""}, ${0}, ${0})`;
  return prepareBatches<never>(
    [200, 20, 1],
    row,
    (rows) => sql`
      insert into visit_counts
        (project_id, dimension, first_day, link_id, value, event, visits, ${column})
      values ${rows}
      on conflict (project_id, dimension, first_day, link_id, value, event) do update set
        visits = visit_counts.visits + excluded.visits,
        ${column} = coalesce(visit_counts.${column}, 0) + excluded.${column}
    `,
  );
}

type ClickCount = {
  readonly projectId: string;
  readonly linkId: string;
  readonly clicks: number;
};

/**
 * Adds clicks to their links, or to the bin entries of deleted links. Also invalidates the cached
 * counts of lists that filter by clicks.
 */
async function addClicks(db: Db, clicks: readonly ClickCount[]): Promise<void> {
  const links = new Set((await addToLinks(db, clicks.flatMap(toCells))).map(({ id }) => id));
  const deleted = clicks.filter(({ linkId }) => !links.has(linkId));
  await addToBin(db, deleted.flatMap(toCells));
  await db
    .updateTable("tallies")
    .set(({ eb }) => ({ clicked: eb("clicked", "+", 1) }))
    .where("project_id", "in", [...new Set(clicks.map(({ projectId }) => projectId)), ""])
    .execute();
}

function toCells({ projectId, linkId, clicks }: ClickCount) {
  return [projectId, linkId, clicks];
}

const addToLinks = prepareAdding(
  (visits) => sql`
  ${visits} update links set clicks = clicks + visits.visited from visits
  where links.project_id = visits.project_id and links.id = visits.link_id returning links.id
`,
);

const addToBin = prepareAdding(
  (visits) => sql`
  ${visits} update bin set clicks = clicks + visits.visited from visits
  where bin.project_id = visits.project_id and bin.kind = 'link' and bin.id = visits.link_id
  returning bin.id
`,
);

function prepareAdding(
  write: (visits: RawBuilder<unknown>) => RawBuilder<{ readonly id: string }>,
) {
  const row = sql`(${""}, ${""}, cast(${0} as bigint))`;
  return prepareBatches([100, 10, 1], row, (rows) =>
    write(sql`with visits (project_id, link_id, visited) as (values ${rows})`),
  );
}

/** Visitors can send any number of invented referring hosts, so only some are stored per day. */

const mostOfLink = 100;
const mostOfProject = 1000;
/** The maximum number of hosts that one statement removes, because it lists each of them. */
const mostRemoved = 5000;

/**
 * Keeps only the most frequent referring hosts of a day, per link and per project, and counts the
 * rest as `other`. The limit per link stops invented hosts on one link from displacing real hosts
 * of other links.
 */
async function limitHosts(tenant: Tenant, day: number, linkIds: readonly string[]): Promise<void> {
  for (let isMore = true; isMore;) {
    // The project's hosts include its links' hosts. If it has few, no link can have too many.
    const hosts = await findHostsBeyond(tenant, day, [""], mostOfLink);
    if (hosts.length === 0) return;
    const ofLinks = await findHostsBeyond(tenant, day, linkIds, mostOfLink);
    const ofProject = hosts.slice(mostOfProject - mostOfLink);
    for (const beyond of [ofProject, ofLinks]) {
      if (beyond.length > 0) await joinHosts(tenant, day, beyond);
    }
    isMore = [hosts, ofLinks].some(({ length }) => length === mostRemoved);
  }
}

type ReferringHost = { readonly link_id: string; readonly value: string };

async function findHostsBeyond(
  { db, projectId }: Tenant,
  day: number,
  linkIds: readonly string[],
  most: number,
): Promise<readonly ReferringHost[]> {
  const { rows } = await sql<ReferringHost>`
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

async function joinHosts({ db, projectId }: Tenant, day: number, hosts: readonly ReferringHost[]) {
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

/** Which visits to sum. An hour belongs to the period in which it starts. */
export type VisitScope = {
  readonly period: { readonly from: number; readonly to: number };
  readonly links: LinkScope;
};

/** Sums visits. Button presses are not included. */
export async function readTotal(tenant: Tenant, { period, links }: VisitScope): Promise<Sum> {
  const counters = selectCounters(tenant, "total", period, links.together);
  const { rows } = await sql<Sum>`select ${sums} from ${counters}`.execute(tenant.db);
  return addUp(rows);
}

/** Sums visits per hour, by the time at which the hour starts. Hours without visits are omitted. */
export async function readByHour(
  tenant: Tenant,
  { period, links }: VisitScope,
): Promise<readonly (readonly [number, Sum])[]> {
  const hours = hourColumns.map((column) => sql`sum(${sql.ref(column)}) as ${sql.ref(column)}`);
  const { rows } = await sql<HourRow>`
    select first_day, event, ${sql.join(hours)} from visit_counts
    where project_id = ${tenant.projectId} and dimension = 'total'
      and first_day in (${sql.join(listDays(period))}) and ${links.together}
    group by first_day, event
  `.execute(tenant.db);
  return rows.flatMap(({ first_day: day, event, ...row }) =>
    hourColumns.flatMap((column, hour) => {
      const at = (day * dayHours + hour) * hour_ms;
      const visits = row[column] ?? 0;
      const isInPeriod = visits > 0 && at >= period.from && at < period.to;
      return isInPeriod ? [[at, { ...noVisits, [event]: visits }] as const] : [];
    }),
  );
}

type HourRow = { readonly first_day: number; readonly event: VisitEvent } & {
  readonly [Column in HourColumn]: number | null;
};

/** Sums visits by a property's value. The sum of the most common value is derived from `total`. */
export async function readByValue(
  tenant: Tenant,
  fact: VisitFact,
  { period, links }: VisitScope,
  total: Sum,
): Promise<ReadonlyMap<string, Sum>> {
  const counters = selectCounters(tenant, fact, period, links.together);
  const { rows } = await sql<{ readonly value: string } & Sum>`
    select value, ${sums} from ${counters} group by value having sum(visits) > 0
  `.execute(tenant.db);
  const byValue = new Map(rows.map(({ value, ...sum }) => [value, sum]));
  const counted = [...byValue].filter(([value]) => value !== pressSource);
  const usual = subtract(total, addUp(counted.map(([, sum]) => sum)));
  if (!isNone(usual)) byValue.set(usualValues[fact], usual);
  return byValue;
}

/** Sums visits by link. Returns up to `most` links, most clicks first. */
export async function readByLink(
  tenant: Tenant,
  { period, links }: VisitScope,
  most: number,
): Promise<readonly (readonly [string, Sum])[]> {
  const counters = selectCounters(tenant, "total", period, links.apart);
  const { rows } = await sql<{ readonly link_id: string } & Sum>`
    select link_id, ${sums} from ${counters} group by link_id having sum(visits) > 0
    order by click desc, open desc, install desc, link_id limit ${most}
  `.execute(tenant.db);
  return rows.map(({ link_id, ...sum }) => [link_id, sum]);
}

const sums = sql.join(
  (["click", "open", "install"] as const).map(
    (event) => sql`
      coalesce(sum(visits) filter (where event = ${sql.lit(event)}), 0) as ${sql.ref(event)}`,
  ),
);

/**
 * Selects counters. Uses the stored sums of whole days and of months, and adds up hours for days
 * that are only partly in the period.
 */
function selectCounters(
  { projectId }: Tenant,
  dimension: Dimension,
  { from, to }: VisitScope["period"],
  areSelected: RawBuilder<SqlBool>,
): RawBuilder<unknown> {
  const days = listDays({ from, to });
  const isWhole = (day: number) => from <= day * day_ms && (day + 1) * day_ms <= to;
  const select = (
    visits: RawBuilder<unknown>,
    some: readonly number[],
    unit: Dimension = dimension,
  ) => sql`
    select link_id, value, event, ${visits} as visits from visit_counts
    where project_id = ${projectId} and dimension = ${unit}
      and first_day in (${sql.join(some)}) and ${areSelected}
  `;
  const parts = days.flatMap((day) => {
    if (isWhole(day)) return [];
    const hours = hourColumns.filter((_, hour) => {
      const at = (day * dayHours + hour) * hour_ms;
      return at >= from && at < to;
    });
    const visits = hours.map((column) => sql`coalesce(${sql.ref(column)}, 0)`);
    return [select(visits.length === 0 ? sql`0` : sql.join(visits, sql` + `), [day])];
  });
  const whole = days.filter(isWhole);
  const { months, missing, others } =
    dimension === "total" ? groupMonths(whole) : { months: [], missing: [], others: whole };
  if (others.length > 0) parts.push(select(sql`visits`, others));
  if (months.length > 0) parts.push(select(sql`visits`, months, "month"));
  if (missing.length > 0) parts.push(select(sql`-visits`, missing));
  return sql`(${sql.join(parts, sql` union all `)}) as counters`;
}

const longestMonth = 31;

/**
 * Replaces most days of a month by the month (its first day), without the `missing` days. Reading
 * the month and two missing days is faster than reading 28 days.
 */
function groupMonths(days: readonly number[]) {
  const given = new Set(days);
  const months = [...new Set(days.map(findMonth))].map((first) => {
    const next = findMonth(first + longestMonth);
    const all = Array.from({ length: next - first }, (_, place) => first + place);
    return { first, all, missing: all.filter((day) => !given.has(day)) };
  });
  const used = months.filter(({ all, missing }) => missing.length + 1 < all.length / 2);
  const covered = new Set(used.flatMap(({ all }) => all));
  return {
    months: used.map(({ first }) => first),
    missing: used.flatMap(({ missing }) => missing),
    others: days.filter((day) => !covered.has(day)),
  };
}

function listDays({ from, to }: VisitScope["period"]): readonly number[] {
  const first = Math.floor(from / day_ms);
  return Array.from({ length: Math.ceil(to / day_ms) - first }, (_, place) => first + place);
}
