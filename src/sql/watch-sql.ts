import { OutcomeUnknown, StoreBusy } from "./faults.ts";
import type { PoolMeasures, Sql, WriteSignal } from "./sql.ts";

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

/** Notes for the operator what took long, or did not end as it should, and for which request. */
export type NoteSql = (facts: SqlFacts, message: string) => unknown;
type SqlFacts = { readonly request: string | undefined; readonly ms: number };

type Work = "write" | "read";
type Options = { readonly signal?: WriteSignal | undefined } | undefined;

const slow_ms = 1000;

/** The same database, which can be asked what it does. */
export function watchSql<Tables>(
  sql: Sql<Tables>,
  note: NoteSql = () => undefined,
  monotonic = () => performance.now(),
): WatchedSql<Tables> {
  let busy = 0;
  const waiting = { write: 0, read: 0 };

  async function follow<Result>(
    kind: Work,
    work: () => Promise<Result>,
    options: Options,
  ): Promise<Result> {
    const begun = monotonic();
    const tell = (message: string) => {
      const request = options?.signal?.requestId;
      note({ request, ms: Math.round(monotonic() - begun) }, `${kind} of the store: ${message}`);
    };
    waiting[kind] += 1;
    try {
      const result = await work();
      if (monotonic() - begun >= slow_ms) tell("slow");
      return result;
    } catch (error) {
      if (error instanceof StoreBusy) {
        busy += 1;
        // Whoever has left has nothing to be told of.
        if (options?.signal?.hasLeft() !== true) tell(`given up, for ${nameReason(error)}`);
      }
      if (error instanceof OutcomeUnknown) tell("nobody knows whether it was done");
      throw error;
    } finally {
      waiting[kind] -= 1;
    }
  }

  return {
    ...sql,
    write: (work, options) => follow("write", () => sql.write(work, options), options),
    readLong: (work, options) => follow("read", () => sql.readLong(work, options), options),
    measure: () => ({
      commits: sql.countWrites(),
      busy,
      waitingWrites: waiting.write,
      waitingReads: waiting.read,
      pool: sql.measurePool?.(),
    }),
  };
}

function nameReason({ outage, message }: StoreBusy): string {
  if (outage === "away") return "it could not be reached";
  return outage === "busy" ? "it was busy" : message;
}
