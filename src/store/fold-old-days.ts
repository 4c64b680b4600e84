import type { Sql } from "../sql/sql.ts";
import { addCell, addCells, writeCells, type Cells } from "../stats/cells.ts";
import { dayHours, findFirstDay, withoutHour } from "../stats/visit.ts";
import type { Tables } from "./tables.ts";
import { workOnEach, type Sweep } from "./sweep-projects.ts";
import type { Db, Tenant } from "./tenant.ts";
import { createKindReader, readDay, writeDay } from "./visit-days.ts";

/** Days of long ago: nobody asks for their hours any more, and without them they are smaller. */

const rowsAtOnce = 20;

type Folding = Pick<Sql<Tables>, "db" | "write">;

export function foldOldDays(
  { db, write }: Folding,
  now: number,
  { signal, onError }: Pick<Sweep, "signal" | "onError">,
): Promise<void> {
  const before = findFirstDay(now);
  const fold = (projectId: string) => async (own: Db) => {
    const tenant = { db: own, projectId };
    return (await foldSome(tenant, before)) && (await foldTotals(tenant, before));
  };
  return workOnEach(db, {
    find: (projects) => listOld(db, projects, before),
    work: async (projectId) => {
      while (!signal.aborted && !(await write(fold(projectId), { isPatient: true })));
    },
    signal,
    onError,
  });
}

async function listOld(
  db: Db,
  projects: readonly string[],
  before: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("visit_totals")
    .select("project_id")
    .distinct()
    .where("project_id", "in", projects)
    .where("hourly", "=", 1)
    .where("day", "<", before)
    .execute();
  return rows.map(({ project_id }) => project_id);
}

/** True when none are left. */
async function foldSome({ db, projectId }: Tenant, before: number): Promise<boolean> {
  const rows = await db
    .selectFrom("visit_days")
    .select(["day", "first_id", "ids", "detail"])
    .where("project_id", "=", projectId)
    .where("hourly", "=", 1)
    .where("day", "<", before)
    .limit(rowsAtOnce)
    .execute();
  const read = createKindReader();
  for (const { day, first_id, ...row } of rows) {
    const links: [string, Map<string, number>][] = [];
    readDay(row, (id, counts) => links.push([id, dropHours(counts)]));
    const { detail } = writeDay(links, read);
    await db
      .updateTable("visit_days")
      .set({ hourly: 0, detail })
      .where("project_id", "=", projectId)
      .where("day", "=", day)
      .where("first_id", "=", first_id)
      .execute();
  }
  return rows.length < rowsAtOnce;
}

function dropHours(counts: ReadonlyMap<string, number>): Map<string, number> {
  const whole = new Map<string, number>();
  for (const [kind, count] of counts) {
    const told = withoutHour(kind);
    whole.set(told, (whole.get(told) ?? 0) + count);
  }
  return whole;
}

/** The days are told as old by their totals, so these are folded when nothing else is left. */
async function foldTotals({ db, projectId }: Tenant, before: number): Promise<boolean> {
  const rows = await db
    .selectFrom("visit_totals")
    .select(["day", "body"])
    .where("project_id", "=", projectId)
    .where("hourly", "=", 1)
    .where("day", "<", before)
    .limit(rowsAtOnce)
    .execute();
  for (const { day, body } of rows) {
    const whole: Cells = new Map();
    const noon = String(day * dayHours + dayHours / 2);
    const hourly: Cells = new Map();
    addCells(hourly, body);
    for (const counts of hourly.values()) {
      for (const [kind, count] of counts) addCell(whole, noon, kind, count);
    }
    await db
      .updateTable("visit_totals")
      .set({ hourly: 0, body: writeCells(whole) })
      .where("project_id", "=", projectId)
      .where("day", "=", day)
      .execute();
  }
  return rows.length < rowsAtOnce;
}
