import type { JsonObject } from "../contract/json.ts";
import type { Link } from "../contract/links.ts";
import { tellOf } from "./outbox.ts";
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
  const data: JsonObject = { project_id: tenant.projectId, ...install };
  await tellOf(tenant, [{ event: "install.matched", data }], now);
}
