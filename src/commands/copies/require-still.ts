import type { Kysely } from "kysely";
import { UsageFault } from "../../config.ts";
import { CopyFault, type CopiedDatabase } from "../../copies/copied-database.ts";
import { findOpenWrite, holdWrites, type OpenWrite } from "../../sql/hold-writes.ts";
import { isLockTaken, isMissingTable } from "../../sql/postgres-faults.ts";
import { longestPause_ms } from "../../sql/postgres-writer-row.ts";
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
  const [other] = first === undefined ? [] : await listProcesses(first.sql.db);
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

async function hold([first]: readonly CopiedDatabase[], db: Kysely<unknown>): Promise<void> {
  try {
    await holdWrites(db);
  } catch (error) {
    if (isMissingTable(error)) throw refuseEmpty();
    if (first === undefined || !isLockTaken(error)) throw error;
    const open = await findOpenWrite(first.sql.db);
    throw refuseBusy(
      open && ` (${describeWrite(open)})`,
      `; the database ends an idle write after ${longestPause_ms / 1000} seconds`,
    );
  }
}

/** The server keeps to itself what other roles' connections do. */
function describeWrite({ pid, address, open_s }: OpenWrite): string {
  const whence = address === null ? "" : ` from ${address}`;
  const since = open_s === null ? "" : ` for ${open_s} seconds`;
  return `database process ${pid}${whence} has been writing${since}`;
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
