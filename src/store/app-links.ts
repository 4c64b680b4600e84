import { sql } from "kysely";
import type { Link } from "../contract/links.ts";
import { queueLinkEvents } from "./events.ts";
import { readTally, tallyWrite } from "./project-tallies.ts";
import { toLink } from "./shown-link.ts";
import type { AppKind, LinkTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";

/** The links of an app that goes, or comes back: each batch of them in one transaction. */

const batchRows = 1000;

/** Detaches some of the links of an app that is gone; true when none are left. */
export async function detachBatch(tenant: Tenant, kind: AppKind, appId: string): Promise<boolean> {
  const key = sql.ref(`${kind}_id`);
  return changeLinks(tenant, {
    changes: sql`${sql.ref(`former_${kind}_id`)} = ${key}, ${key} = null`,
    which: sql`${key} = ${appId}`,
    putBack: (link) => ({ ...link, [`${kind}_id`]: appId }),
  });
}

/**
 * Puts an app back on some of the links that it was on, where they have no other one by now; true
 * when none are left.
 */
export async function attachBatch(tenant: Tenant, kind: AppKind, appId: string): Promise<boolean> {
  const key = sql.ref(`${kind}_id`);
  const former = sql.ref(`former_${kind}_id`);
  return changeLinks(tenant, {
    changes: sql`${key} = coalesce(${key}, ${former}), ${former} = null`,
    which: sql`${former} = ${appId}`,
    putBack: (link) => (link[`${kind}_id`] === appId ? { ...link, [`${kind}_id`]: null } : link),
  });
}

type Changes = {
  readonly changes: ReturnType<typeof sql>;
  readonly which: ReturnType<typeof sql>;
  /** The link as it was. */
  readonly putBack: (link: Link) => Link;
};

async function changeLinks(tenant: Tenant, { changes, which, putBack }: Changes): Promise<boolean> {
  const { db, projectId } = tenant;
  const { webhooks } = await readTally(tenant);
  const update = sql`
    update links set ${changes} where project_id = ${projectId} and id in (
      select id from links where project_id = ${projectId} and ${which} limit ${batchRows}
    )
  `;
  if (webhooks === 0) {
    const { numAffectedRows = 0n } = await update.execute(db);
    if (numAffectedRows > 0n) await tallyWrite(tenant, 0);
    return numAffectedRows < BigInt(batchRows);
  }
  const { rows } = await sql<LinkTable>`${update} returning *`.execute(db);
  if (rows.length === 0) return true;
  const changed = rows.map((row) => {
    const link = toLink(row);
    return { event: "link.updated", link, before: putBack(link) } as const;
  });
  // A chore goes on whenever there is somebody to do it, and has no other clock.
  await queueLinkEvents(tenant, await tallyWrite(tenant, 0), changed, Date.now());
  return rows.length < batchRows;
}
