import { sql, type RawBuilder } from "kysely";
import type { Sql } from "../sql/sql.ts";
import { dayHours, findFirstDay, usualValues } from "../stats/visit.ts";
import { workOnEach, type Sweep } from "./sweep-projects.ts";
import type { Tables } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** Old hours and the visits of deleted projects are removed in short transactions. */

const rowsAtOnce = 1000;

/** What happened in them stays in the counters of their days. */
export function dropOldHours(
  { db, write }: Pick<Sql<Tables>, "db" | "write">,
  now: number,
  { signal, onError }: Pick<Sweep, "signal" | "onError">,
): Promise<void> {
  // A process whose clock is late still reads the hours of one more day.
  const before = (findFirstDay(now) - 1) * dayHours;
  // Each dimension is named so that the index finds the old hours of each.
  const areOld = sql`unit = 'hour' and dimension in (${sql.join(dimensions)}) and hour < ${before}`;
  return workOnEach(db, {
    find: async (projects) => {
      const withHours = db
        .selectFrom("visit_counts")
        .select("project_id")
        .distinct()
        .where("project_id", "in", projects)
        .where("unit", "=", "hour")
        // In the order of deletion, it is the last one that a project loses.
        .where("dimension", "=", "total")
        .where("hour", "<", before);
      return (await withHours.execute()).map(({ project_id }) => project_id);
    },
    work: async (projectId) => {
      const drop = () => write((own) => deleteSome({ db: own, projectId }, areOld), patiently);
      while (!signal.aborted && !(await drop()));
    },
    signal,
    onError,
  });
}

const dimensions = [...Object.keys(usualValues), "total"];
const patiently = { isPatient: true };

/** True when a deleted project has no visits left. */
export function purgeVisits(tenant: Tenant): Promise<boolean> {
  return deleteSome(tenant, sql`1 = 1`);
}

async function deleteSome({ db, projectId }: Tenant, which: RawBuilder<unknown>): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from visit_counts where project_id = ${projectId}
    and (unit, dimension, hour, link_id, value) in (
      select unit, dimension, hour, link_id, value from visit_counts
      where project_id = ${projectId} and ${which}
      order by unit, dimension, hour, link_id, value limit ${rowsAtOnce}
    )
  `.execute(db);
  return numAffectedRows < BigInt(rowsAtOnce);
}
