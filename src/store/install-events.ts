import type { JsonObject } from "../contract/json.ts";
import type { Link } from "../contract/links.ts";
import { queueEvents } from "./outbox.ts";
import { readTally, tallyWrite } from "./project-tallies.ts";
import type { Tenant } from "./tenant.ts";

/** An app that was installed for a link: how sure that is, and on which system. */
export type MatchedInstall = {
  readonly link: Link;
  readonly platform: string;
  readonly confidence: string;
  readonly match_score: number;
};

/** Tells the project's webhooks, where it has any, in the transaction that uses the visit. */
export async function tellOfInstall(
  tenant: Tenant,
  install: MatchedInstall,
  now: number,
): Promise<void> {
  if (!(await hasWebhooks(tenant))) return;
  const data: JsonObject = { project_id: tenant.projectId, ...install };
  const told = { event: "install.matched", subject: install.link.id, data } as const;
  await queueEvents(tenant, await tallyWrite(tenant, 0), [told], now);
}

export async function hasWebhooks(tenant: Tenant): Promise<boolean> {
  return ((await readTally(tenant)).webhooks ?? 0) > 0;
}
