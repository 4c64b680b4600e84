import { sql } from "kysely";
import { attachBatch, detachBatch } from "./links.ts";
import { putInBin, takeOutOfBin, type Deleted } from "./bin.ts";
import { tallyWrite } from "./project-tallies.ts";
import { queueChore, takeChoreBack } from "./queue-chore.ts";
import type { AppKind, ChoreTable, OfProject } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** How an app of one kind is deleted and comes back, and its links with it. */

/** A chore that was queued, where there was more to do than a transaction should. */
export type MoreWork = { readonly chore?: ChoreTable };

export type DeletedApp = Deleted<Readonly<Record<string, string | number | null>>>;

/** Undefined when there was none. */
export async function removeApp(
  tenant: Tenant,
  kind: AppKind,
  id: string,
  now: number,
): Promise<MoreWork | undefined> {
  const { db, projectId } = tenant;
  const { rows } = await sql<OfProject>`
    delete from ${sql.table(`${kind}s`)} where project_id = ${projectId} and id = ${id} returning *
  `.execute(db);
  const [row] = rows;
  if (row === undefined) return undefined;
  await tallyWrite(tenant, 0);
  await putInBin(tenant, kind, row, now);
  await takeChoreBack(db, { kind: `attach_${kind}`, project_id: projectId, subject: id });
  if (await detachBatch(tenant, kind, id)) return {};
  return queue(tenant, `detach_${kind}`, id);
}

/** Its identifier must be free. */
export async function restoreApp(
  tenant: Tenant,
  kind: AppKind,
  { id, row }: DeletedApp,
): Promise<MoreWork> {
  const { db, projectId } = tenant;
  const cells = Object.entries({ ...row, project_id: projectId });
  await tallyWrite(tenant, 0);
  await takeOutOfBin(tenant, kind, id);
  await sql`
    insert into ${sql.table(`${kind}s`)} (${sql.join(cells.map(([name]) => sql.ref(name)))})
    values (${sql.join(cells.map(([, value]) => value))})
  `.execute(db);
  // Links that were not detached yet stay as they are.
  await takeChoreBack(db, { kind: `detach_${kind}`, project_id: projectId, subject: id });
  if (await attachBatch(tenant, kind, id)) return {};
  return queue(tenant, `attach_${kind}`, id);
}

async function queue(
  { db, projectId }: Tenant,
  kind: ChoreTable["kind"],
  subject: string,
): Promise<MoreWork> {
  const chore = { kind, project_id: projectId, subject };
  await queueChore(db, chore);
  return { chore };
}
