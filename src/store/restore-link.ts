import type { Link } from "../contract/links.ts";
import { takeOutOfBin, type Deleted, type Restored } from "./bin.ts";
import { queueLinkEvents } from "./events.ts";
import { claimAddress, findLink, releaseAddress } from "./links.ts";
import { tallyWrite } from "./project-tallies.ts";
import { claimShortPaths } from "./short-paths.ts";
import type { AppKind, LinkTable } from "./tables.ts";
import type { Tenant } from "./tenant.ts";
import { findSearch } from "./trigram-index.ts";

/** A link's row without what belongs to its place in the table. */
export type DeletedLink = Deleted<Omit<LinkTable, "project_id" | "rowkey">>;

/** Brings a link back from the bin, with its addresses. */
export async function restoreLink(
  tenant: Tenant,
  { id, row, clicks }: DeletedLink,
  now: number,
): Promise<Restored<Link>> {
  const taken = await claimAddresses(tenant, id, row);
  if (taken.length > 0) return { taken };
  const tally = await tallyWrite(tenant, 1);
  await takeOutOfBin(tenant, "link", id);
  const ios = await findApp(tenant, "ios_app", row);
  const android = await findApp(tenant, "android_app", row);
  const whole = {
    ...row,
    project_id: tenant.projectId,
    ios_app_id: ios.current,
    former_ios_app_id: ios.former,
    android_app_id: android.current,
    former_android_app_id: android.former,
    clicks: row.clicks + clicks,
    updated_at: now,
  };
  await tenant.db.insertInto("links").values(whole).execute();
  await findSearch(tenant.db).indexLink(tenant, id, tally.indexed_to);
  const restored = await findLink(tenant, id);
  if (restored === undefined) throw new Error("a restored link did not come back");
  await queueLinkEvents(tenant, tally, [{ event: "link.created", link: restored }], now);
  return { restored };
}

/** The fields whose addresses another link has by now; where there is one, none is claimed. */
async function claimAddresses(
  tenant: Tenant,
  id: string,
  row: DeletedLink["row"],
): Promise<readonly string[]> {
  const claimed: string[] = [];
  const taken: string[] = [];
  for (const field of ["path", "shortened_path"] as const) {
    const address = row[field];
    if (address === null) continue;
    if (await claimAddress(tenant, address, id)) claimed.push(address);
    else taken.push(field);
  }
  if (taken.length === 0 && !(await claimShortPaths(tenant, id))) taken.push("shortened_path");
  if (taken.length > 0) for (const address of claimed) await releaseAddress(tenant, address);
  return taken;
}

/** The app that it was on, if that is there; else it gets that app when it comes back. */
async function findApp({ db, projectId }: Tenant, kind: AppKind, row: DeletedLink["row"]) {
  const appId = row[`${kind}_id`] ?? row[`former_${kind}_id`];
  const app = await db
    .selectFrom(`${kind}s`)
    .select("id")
    .where("project_id", "=", projectId)
    .where("id", "=", appId ?? "")
    .executeTakeFirst();
  return app === undefined ? { current: null, former: appId } : { current: app.id, former: null };
}
