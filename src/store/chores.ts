import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { StoreBusy } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import { attachBatch, detachBatch } from "./links.ts";
import { emptyBatch } from "./bin.ts";
import { purgeVisits } from "./count-visits.ts";
import { takeChoreBack } from "./queue-chore.ts";
import { purgeShortPaths } from "./short-paths.ts";
import type { ChoreTable, Tables } from "./tables.ts";
import type { Db, Tenant } from "./tenant.ts";
import { dropIndex, indexBatch } from "./trigram-index.ts";

/**
 * Long work in short transactions. The transaction that decides on it writes it down as a chore;
 * then it is done batch by batch, so that no other request waits for long, and the next process
 * that starts goes on where a killed one stopped. Two processes may work at the same chore: every
 * batch begins with what is left.
 */

const batchRows = 1000;
/** Between two batches: the lock is free, and other work of this process has its turn. */
const pause_ms = 2;

/** Goes through all chores once. One that fails holds up no other; it is tried again next time. */
export async function runChores(
  store: Sql<Tables>,
  signal: AbortSignal,
  onError: (error: unknown) => void,
): Promise<void> {
  // Another process holds the store, or it is away, and there is nothing to report each time.
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) onError(error);
  };
  const chores = await store.db.selectFrom("chores").selectAll().execute().catch(note);
  for (const chore of chores ?? []) {
    if (signal.aborted) return;
    await runChore(store, chore, signal).catch(note);
  }
}

/** Works at one chore until it is done. */
export async function runChore(
  store: Sql<Tables>,
  chore: ChoreTable,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const isDone = await store.write((db) => runPart(db, chore), { isPatient: true });
    if (isDone) return;
    await setTimeout(pause_ms);
  }
}

async function runPart(db: Db, chore: ChoreTable): Promise<boolean> {
  // Another transaction may have taken it back: a restored app keeps its links.
  const isLast = !(await isQueued(db, chore)) || (await runBatch(db, chore));
  if (isLast) await takeChoreBack(db, chore);
  return isLast;
}

function runBatch(db: Db, { kind, project_id, subject }: ChoreTable): Promise<boolean> {
  const tenant = { db, projectId: project_id };
  switch (kind) {
    case "purge_project":
      return purgeBatch(tenant);
    case "detach_ios_app":
      return detachBatch(tenant, "ios_app", subject);
    case "detach_android_app":
      return detachBatch(tenant, "android_app", subject);
    case "attach_ios_app":
      return attachBatch(tenant, "ios_app", subject);
    case "attach_android_app":
      return attachBatch(tenant, "android_app", subject);
    case "empty_bin":
      return emptyBatch(tenant, Number(subject));
    case "index_project":
      return indexBatch(tenant);
  }
}

/** Removes the rows of a deleted project, which no request can reach any more. */
async function purgeBatch({ db, projectId }: Tenant): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from links where project_id = ${projectId} and id in (
      select id from links where project_id = ${projectId} limit ${batchRows}
    )
  `.execute(db);
  const { numAffectedRows: addresses = 0n } = await sql`
    delete from addresses where project_id = ${projectId} and address in (
      select address from addresses where project_id = ${projectId} limit ${batchRows}
    )
  `.execute(db);
  const areShortPathsGone = await purgeShortPaths({ db, projectId }, batchRows);
  const areVisitsGone = await purgeVisits({ db, projectId });
  const isBinEmpty = await emptyBatch({ db, projectId }, Number.MAX_SAFE_INTEGER);
  if (!areShortPathsGone || !areVisitsGone || !isBinEmpty) return false;
  if (numAffectedRows + addresses > 0n) return false;
  const apps = ["ios_apps", "android_apps"] as const;
  const small = [...apps, "page_templates", "page_template_versions", "deferred_visits"] as const;
  const webhooks = ["webhooks", "deliveries"] as const;
  for (const table of [...small, ...webhooks, "tallies", "chores"] as const) {
    await db.deleteFrom(table).where("project_id", "=", projectId).execute();
  }
  await dropIndex(db, projectId);
  return true;
}

async function isQueued(db: Db, { kind, project_id, subject }: ChoreTable): Promise<boolean> {
  const row = await db
    .selectFrom("chores")
    .select("kind")
    .where("kind", "=", kind)
    .where("project_id", "=", project_id)
    .where("subject", "=", subject)
    .executeTakeFirst();
  return row !== undefined;
}
