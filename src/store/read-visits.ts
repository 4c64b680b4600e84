import { sql, type RawBuilder, type SqlBool } from "kysely";
import { addUp, isNone, noVisits, subtract, type Sum } from "../stats/sums.ts";
import {
  day_ms,
  dayHours,
  findMonth,
  hour_ms,
  hourColumns,
  pressSource,
  usualValues,
  type Dimension,
  type VisitFact,
  type HourColumn,
  type VisitEvent,
} from "../stats/visit.ts";
import type { LinkScope } from "./link-lists.ts";
import type { Tenant } from "./tables.ts";

/** Reads sums of visits. An hour belongs to the period in which it starts. */
export type VisitScope = {
  readonly period: { readonly from: number; readonly to: number };
  readonly links: LinkScope;
};

/** Sums visits, but not presses of buttons. */
export async function readTotal(tenant: Tenant, { period, links }: VisitScope): Promise<Sum> {
  const counters = selectCounters(tenant, "total", period, links.together);
  const { rows } = await sql<Sum>`select ${sums} from ${counters}`.execute(tenant.db);
  return addUp(rows);
}

/** Sums visits by the start of each hour. Hours without visits are omitted. */
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

/** Sums visits by value. Visits without a stored value count under the usual value. */
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

/** Returns the sums of up to `most` links, most clicks first. */
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
 * Selects counters. For days that are partly in the period, adds up their hours. For whole days and
 * months, reads the stored sums.
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
  const months = dimension === "total" ? listWholeMonths(whole) : [];
  const others = whole.filter((day) => !months.includes(findMonth(day)));
  if (others.length > 0) parts.push(select(sql`visits`, others));
  if (months.length > 0) parts.push(select(sql`visits`, months, "month"));
  return sql`(${sql.join(parts, sql` union all `)}) as counters`;
}

/** Lists the first days of months that are completely in the period. */
function listWholeMonths(days: readonly number[]): readonly number[] {
  const mostDays = 31;
  return [...new Set(days.map(findMonth))].filter(
    (first) => days.includes(first) && days.includes(findMonth(first + mostDays) - 1),
  );
}

/** Lists the days that overlap the period. */
function listDays({ from, to }: VisitScope["period"]): readonly number[] {
  const first = Math.floor(from / day_ms);
  return Array.from({ length: Math.ceil(to / day_ms) - first }, (_, place) => first + place);
}
