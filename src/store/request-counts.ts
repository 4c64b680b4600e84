import type { RequestCountTable } from "./tables.ts";
import type { Store } from "./store.ts";
import type { Db } from "./tenant.ts";

/**
 * What the processes of a store have counted against budgets that are theirs together: each has
 * rows of its own, so that no two of them ever write the same row.
 */

type Counting = Pick<Store, "db" | "write">;

export async function writeCounts(
  { write }: Pick<Counting, "write">,
  counts: readonly RequestCountTable[],
): Promise<void> {
  await write(async (db) => {
    const insert = db.insertInto("request_counts").values([...counts]);
    await insert
      .onConflict((conflict) =>
        conflict.columns(["name", "process"]).doUpdateSet((row) => ({
          spent: row.ref("excluded.spent"),
          ends_at: row.ref("excluded.ends_at"),
        })),
      )
      .execute();
  });
}

/** What others have counted in windows that end after this time. */
export function readOtherCounts(
  db: Db,
  names: readonly string[],
  { process, now }: { readonly process: string; readonly now: number },
): Promise<readonly RequestCountTable[]> {
  return db
    .selectFrom("request_counts")
    .selectAll()
    .where("name", "in", [...names])
    .where("process", "<>", process)
    .where("ends_at", ">", now)
    .execute();
}

/** What lies so far ahead was written before the clock was set back. */
export async function dropEndedCounts(
  { write }: Pick<Counting, "write">,
  now: number,
  latest: number,
): Promise<void> {
  await write(
    async (db) => {
      const ended = db.deleteFrom("request_counts");
      await ended
        .where((row) => row.or([row("ends_at", "<=", now), row("ends_at", ">", latest)]))
        .execute();
    },
    { isPatient: true },
  );
}
