import { StoreBusy } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import type { Tables } from "./tables.ts";
import type { Db, Tenant } from "./tenant.ts";

/**
 * How many phones visit from behind one address: of each project two sums over all of its windows,
 * of which nobody can tell a visit, a phone or an address. Processes share them, and what is
 * learned outlives them.
 */
type Kept = Record<"visits" | "others" | "at", number>;

const thousandths = 1000;

export async function findCrowd({ db, projectId }: Tenant): Promise<Kept | undefined> {
  const row = await db
    .selectFrom("crowds")
    .selectAll()
    .where("project_id", "=", projectId)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { visits, others, learned_at: at } = row;
  return { visits: visits / thousandths, others: others / thousandths, at };
}

/**
 * Nothing happens where another process has learned from the same window since `before`, nor where
 * the store stays busy for as long as a write waits: no app is refused for that, and the next one
 * that asks leads to as much.
 */
export async function keepCrowd(
  { write }: Pick<Sql<Tables>, "write">,
  project_id: string,
  { visits, others, at: learned_at }: Kept,
  before: Kept | undefined,
): Promise<void> {
  const learned = {
    visits: Math.round(visits * thousandths),
    others: Math.round(others * thousandths),
    learned_at,
  };
  const keep = (db: Db) =>
    db
      .insertInto("crowds")
      .values({ project_id, ...learned })
      .onConflict((conflict) => {
        const known = conflict.column("project_id");
        if (before === undefined) return known.doNothing();
        return known.doUpdateSet(learned).where("crowds.learned_at", "=", before.at);
      })
      .execute();
  await write(keep).catch((error: unknown) => {
    if (!(error instanceof StoreBusy)) throw error;
  });
}
