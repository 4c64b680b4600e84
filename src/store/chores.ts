import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { StoreBusy } from "../sql/faults.ts";
import type { Sql } from "../sql/sql.ts";
import { tallyWrite } from "./project-tallies.ts";
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
  const chores = await store.db.selectFrom("chores").selectAll().execute().catch(onError);
  for (const chore of chores ?? []) {
    if (signal.aborted) return;
    try {
      await runChore(store, chore, signal);
    } catch (error) {
      // Another process holds the store, and there is nothing to report.
      if (!(error instanceof StoreBusy)) onError(error);
    }
  }
}

/** Works at one chore until it is done. */
export async function runChore(
  store: Sql<Tables>,
  chore: ChoreTable,
  signal?: AbortSignal,
): Promise<void> {
  while (signal?.aborted !== true) {
    const isDone = await store.write(async (db) => {
      const isLast = await runBatch(db, chore);
      if (isLast) await deleteChore(db, chore);
      return isLast;
    });
    if (isDone) return;
    await setTimeout(pause_ms);
  }
}

/** Detaches some of the links of an app that is gone; true when none are left. */
export async function detachBatch(
  tenant: Tenant,
  kind: "detach_ios_app" | "detach_android_app",
  appId: string,
): Promise<boolean> {
  const { db, projectId } = tenant;
  const key = sql.ref(kind === "detach_ios_app" ? "ios_app_id" : "android_app_id");
  const { numAffectedRows = 0n } = await sql`
    update links set ${key} = null where project_id = ${projectId} and id in (
      select id from links where project_id = ${projectId} and ${key} = ${appId} limit ${batchRows}
    )
  `.execute(db);
  if (numAffectedRows > 0n) await tallyWrite(tenant, 0);
  return numAffectedRows < BigInt(batchRows);
}

function runBatch(db: Db, { kind, project_id, subject }: ChoreTable): Promise<boolean> {
  const tenant = { db, projectId: project_id };
  switch (kind) {
    case "purge_project":
      return purgeBatch(tenant);
    case "detach_ios_app":
    case "detach_android_app":
      return detachBatch(tenant, kind, subject);
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
  if (numAffectedRows + addresses > 0n) return false;
  const small = ["ios_apps", "android_apps", "page_templates", "page_template_versions"] as const;
  for (const table of [...small, "tallies", "chores"] as const) {
    await db.deleteFrom(table).where("project_id", "=", projectId).execute();
  }
  await dropIndex(db, projectId);
  return true;
}

async function deleteChore(db: Db, { kind, project_id, subject }: ChoreTable): Promise<void> {
  await db
    .deleteFrom("chores")
    .where("kind", "=", kind)
    .where("project_id", "=", project_id)
    .where("subject", "=", subject)
    .execute();
}
