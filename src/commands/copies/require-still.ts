import { sql, type Kysely } from "kysely";
import { UsageFault } from "../../config.ts";
import { CopyFault, type CopiedDatabase } from "../../copies/copied-database.ts";
import { isLockTaken, isMissingTable, isRepeatable } from "../../sql/postgres-faults.ts";
import { forgottenAfter_s, listProcesses } from "../../sql/processes.ts";
import { showHidden } from "../../text/show-hidden.ts";

/** Held to while a store is copied that nobody may write to any more. */
export type Still = {
  /** Begins the read that is copied. */
  readonly hold: (db: Kysely<unknown>) => Promise<void>;
  /** Throws where somebody has written, or may be about to. */
  readonly requireUnchanged: () => Promise<void>;
};

export async function requireStill(databases: readonly CopiedDatabase[]): Promise<Still> {
  await requireNone(databases);
  const before = await readVersions(databases);
  return {
    hold: (db) => hold(databases, db),
    requireUnchanged: async () => {
      if ((await readVersions(databases)) !== before) throw new CopyFault(written);
      await requireNone(databases);
    },
  };
}

/** Of a file the engine itself says it (`isHeldElsewhere`). */
async function requireNone([first]: readonly CopiedDatabase[]): Promise<void> {
  const listed = first === undefined ? [] : await listProcesses(first.sql.db).catch(refuseMissing);
  const [other] = listed;
  if (other === undefined) return;
  const host = showHidden(other.host).slice(0, mostHost);
  throw refuseBusy(
    ` (${host}, process ${other.pid}, seen ${other.seen_s} seconds ago)`,
    `; a killed process is ignored after ${forgottenAfter_s} seconds`,
  );
}

const mostHost = 100;

/** In a database nobody writes while it is held. */
async function readVersions(databases: readonly CopiedDatabase[]): Promise<string> {
  const versions: number[] = [];
  for (const { sql } of databases) {
    if (sql.engine === "postgres") continue;
    // There is one who writes at a time: what another has begun is over then, and shows.
    await sql.write(() => Promise.resolve());
    versions.push(await sql.readVersion());
  }
  return versions.join(" ");
}

/**
 * Locks all tables against writes until the read is over, and waits for writes that have begun.
 * Taking a lock is not yet the moment that the read sees. Nobody can write to a file that is held.
 */
async function hold(databases: readonly CopiedDatabase[], db: Kysely<unknown>): Promise<void> {
  if (databases[0]?.sql.engine !== "postgres") return;
  const names = databases.flatMap(({ copied: { migrations, tables } }) => [
    migrations.table,
    ...tables.map(({ name }) => name),
  ]);
  const all = sql.join(names.map((name) => sql.table(name)));
  try {
    await sql.raw(`set local lock_timeout = ${longestLock_ms}`).execute(db);
    await sql`lock table ${all} in share mode`.execute(db);
  } catch (error) {
    throw isLockTaken(error) || isRepeatable(error) ? refuseBusy() : refuseMissing(error);
  }
}

const longestLock_ms = 5_000;

function refuseMissing(error: unknown): never {
  throw isMissingTable(error) ? refuseEmpty() : error;
}

const written =
  "another process wrote to the old data during the copy; stop every waypost process that uses " +
  "it, and run the same command again";

/** Of a database; a folder is looked at before it is opened. */
export function refuseEmpty(): UsageFault {
  return new UsageFault("the database contains no Waypost data; check its address");
}

export function refuseBusy(which = "", when = ""): UsageFault {
  return new UsageFault(
    `another process uses the data${which}; stop every waypost process (serve, and clients that ` +
      `start one), and run the same command again${when}`,
  );
}
