import { sql, type RawBuilder, type SqlBool } from "kysely";
import type { CountedTime } from "../stats/counted-time.ts";
import { addUp, isNone, subtract, type Sum } from "../stats/sums.ts";
import { pressSource, usualValues, type Dimension, type Fact } from "../stats/visit.ts";
import type { LinkScope } from "./link-scope.ts";
import type { VisitCountTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** The visits of some time and links, summed up by the database. */
export type VisitScope = { readonly time: CountedTime; readonly links: LinkScope };

/** Presses of buttons are left out. */
export async function readTotal(tenant: Tenant, scope: VisitScope): Promise<Sum> {
  return addUp((await readByTime(tenant, scope)).map(([, sum]) => sum));
}

type Moment = Pick<VisitCountTable, "unit" | "hour">;

export async function readByTime(
  tenant: Tenant,
  { time, links }: VisitScope,
): Promise<readonly (readonly [Moment, Sum])[]> {
  const counters = selectCounters(tenant, "total", time, links.together);
  if (counters === undefined) return [];
  const { rows } = await sql<Moment & Row>`
    select unit, hour, ${sums} from ${counters} group by unit, hour
  `.execute(tenant.db);
  return rows.map(({ unit, hour, ...row }) => [{ unit, hour }, toSum(row)]);
}

/** By each value that was counted, the usual one too. */
export async function readByValue(
  tenant: Tenant,
  fact: Fact,
  { time, links }: VisitScope,
  total: Sum,
): Promise<ReadonlyMap<string, Sum>> {
  const counters = selectCounters(tenant, fact, time, links.together);
  if (counters === undefined) return new Map();
  const { rows } = await sql<{ readonly value: string } & Row>`
    select value, ${sums} from ${counters} group by value
  `.execute(tenant.db);
  const byValue = new Map(rows.map(({ value, ...row }) => [value, toSum(row)]));
  const counted = [...byValue].filter(([value]) => value !== pressSource);
  const usual = subtract(total, addUp(counted.map(([, sum]) => sum)));
  if (!isNone(usual)) byValue.set(usualValues[fact], usual);
  return byValue;
}

/** Those of the links with the most clicks, in order, and not of more than `most` links. */
export async function readByLink(
  tenant: Tenant,
  { time, links }: VisitScope,
  most: number,
): Promise<readonly (readonly [string, Sum])[]> {
  const counters = selectCounters(tenant, "total", time, links.apart);
  if (counters === undefined) return [];
  const { rows } = await sql<{ readonly link_id: string } & Row>`
    select link_id, ${sums} from ${counters} group by link_id
    order by clicks desc, opens desc, installs desc, link_id limit ${most}
  `.execute(tenant.db);
  return rows.map(({ link_id, ...row }) => [link_id, toSum(row)]);
}

type Row = Pick<VisitCountTable, "clicks" | "opens" | "installs">;

const sums = sql`sum(clicks) as clicks, sum(opens) as opens, sum(installs) as installs`;

function toSum({ clicks, opens, installs }: Row): Sum {
  return { click: clicks, open: opens, install: installs };
}

/** Undefined where there is no time. */
function selectCounters(
  { projectId }: Tenant,
  dimension: Dimension,
  { days, hours }: CountedTime,
  areMeant: RawBuilder<SqlBool>,
): RawBuilder<unknown> | undefined {
  const units = [["day", days] as const, ["hour", hours] as const];
  const parts = units.flatMap(([unit, times]) => {
    if (times.length === 0) return [];
    return sql`
      select unit, hour, link_id, value, clicks, opens, installs from visit_counts
      where project_id = ${projectId} and unit = ${unit} and dimension = ${dimension}
        and hour in (${sql.join(times)}) and ${areMeant}
    `;
  });
  return parts.length === 0 ? undefined : sql`(${sql.join(parts, sql` union all `)}) as counters`;
}
