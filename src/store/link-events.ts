import type { Link } from "../contract/links.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import { queueEvents, type Told } from "./outbox.ts";
import type { Tally } from "./project-tallies.ts";
import type { Tenant } from "./tenant.ts";

/** What webhooks are told of links: each as the API shows it, and what was different before. */

type LinkEvent = Extract<WebhookEvent, `link.${"created" | "updated" | "deleted"}`>;

type Change = {
  readonly event: LinkEvent;
  readonly link: Link;
  /** The link before a change. */
  readonly before?: Link;
};

/** Costs nothing where the project has no webhook. */
export async function tellOfLinks(
  tenant: Tenant,
  tally: Tally,
  changes: readonly Change[],
  now: number,
): Promise<void> {
  if (tally.webhooks === 0) return;
  const told = changes.flatMap((change) => describeChange(tenant.projectId, change));
  await queueEvents(tenant, told, now);
}

type Clicked = { readonly linkId: string; readonly clicks: number };

/** Links of one event: a receiver reads tens of thousands of bytes at the most. */
const clickedAtOnce = 500;

/**
 * Queues the clicks of one batch, in the transaction that counts them. Without a webhook it does
 * not even assemble the events.
 */
export async function tellOfClicks(
  tenant: Tenant,
  tally: Tally,
  counted: readonly Clicked[],
  now: number,
): Promise<void> {
  if (tally.webhooks === 0) return;
  const links = counted.flatMap(({ linkId: id, clicks }) => (clicks > 0 ? [{ id, clicks }] : []));
  const told: Told[] = [];
  for (let start = 0; start < links.length; start += clickedAtOnce) {
    const some = links.slice(start, start + clickedAtOnce);
    const data = { project_id: tenant.projectId, links: some };
    told.push({ event: "link.clicked", data });
  }
  await queueEvents(tenant, told, now);
}

function describeChange(project_id: string, { event, link, before }: Change): readonly Told[] {
  const data = { project_id, link };
  if (before === undefined) return [{ event, data }];
  const previous = Object.fromEntries(
    Object.entries(before).filter(([field, value]) => {
      // Visits are counted meanwhile, and told of by an event of their own.
      return field !== "clicks" && link[field] !== value;
    }),
  );
  if (Object.keys(previous).length === 0) return [];
  return [{ event, data: { ...data, previous } }];
}
