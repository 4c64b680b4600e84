import { StoreBusy } from "./faults.ts";
import type { PoolMeasures, Sql } from "./sql.ts";

/** What became of writes and long reads, whichever engine runs them. */
export type SqlMeasures = {
  readonly commits: number;
  /** Those that were given up, because the store was busy for too long. */
  readonly busy: number;
  readonly waitingWrites: number;
  readonly waitingReads: number;
  readonly pool: PoolMeasures | undefined;
};

export type WatchedSql<Tables> = Sql<Tables> & { readonly measure: () => SqlMeasures };

/** The same database, which can be asked what it does. */
export function watchSql<Tables>(sql: Sql<Tables>): WatchedSql<Tables> {
  let busy = 0;
  const waiting = { writes: 0, reads: 0 };

  async function follow<Result>(
    kind: keyof typeof waiting,
    work: () => Promise<Result>,
  ): Promise<Result> {
    waiting[kind] += 1;
    try {
      return await work();
    } catch (error) {
      if (error instanceof StoreBusy) busy += 1;
      throw error;
    } finally {
      waiting[kind] -= 1;
    }
  }

  return {
    ...sql,
    write: (work, options) => follow("writes", () => sql.write(work, options)),
    readLong: (work, options) => follow("reads", () => sql.readLong(work, options)),
    measure: () => ({
      commits: sql.countWrites(),
      busy,
      waitingWrites: waiting.writes,
      waitingReads: waiting.reads,
      pool: sql.measurePool?.(),
    }),
  };
}
