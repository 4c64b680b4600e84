import { sql, type Kysely } from "kysely";
import { mostSkew_ms } from "../../contract/clock.ts";
import { clock } from "./embedded.ts";
import { explainStoreFault, type Warn } from "./explain-store-fault.ts";

/** Compares this machine's clock with the clock of a PostgreSQL database. */

type ClockWatchOptions = {
  readonly warn: Warn;
  readonly report: (error: unknown) => unknown;
};

/**
 * `waypost migrate` finds running processes by their recent queries, so this query must run often.
 */
const lookEvery_ms = 10_000;

/** Compares the clocks at intervals until the returned function is called. */
export async function watchClock(
  db: Kysely<unknown>,
  { warn, report }: ClockWatchOptions,
): Promise<() => void> {
  let isWarned = false;
  const look = async () => {
    try {
      const fault = await findClockFault(db);
      if (fault !== undefined && !isWarned) warn({}, fault);
      isWarned = fault !== undefined;
    } catch (error) {
      // Other database queries report an outage of the database.
      if (explainStoreFault(error) === undefined) report(error);
    }
  };
  await look();
  const timer = setInterval(() => void look(), lookEvery_ms).unref();
  return () => clearInterval(timer);
}

/**
 * If two machines each stay within this limit of the database's clock, they differ by at most
 * `mostSkew_ms`.
 */
const most_ms = mostSkew_ms / 2;

/** Describes what is wrong with this machine's clock, or returns undefined. */
export async function findClockFault(db: Kysely<unknown>): Promise<string | undefined> {
  const ahead_ms = await compareClocks(db);
  if (Math.abs(ahead_ms) <= most_ms) return undefined;
  const side = ahead_ms > 0 ? "ahead of" : "behind";
  return (
    `This machine's clock is ${writeSeconds(Math.abs(ahead_ms))} seconds ${side} the database's ` +
    `clock; at most ${writeSeconds(most_ms)} are allowed. Jobs, approvals and rate limits shared ` +
    "by several machines would end too early or too late. Synchronize all clocks with NTP"
  );
}

/**
 * Returns the smallest difference that the measured times allow. It is positive if this machine's
 * clock is ahead.
 */
async function compareClocks(db: Kysely<unknown>): Promise<number> {
  const before = clock.now();
  const { rows } = await selectTime.execute(db);
  const after = clock.now();
  const now = rows[0]?.now ?? before;
  return now < before ? before - now : Math.min(0, after - now);
}

const selectTime = sql<{ readonly now: number }>`
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now
`;

function writeSeconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(1);
}
