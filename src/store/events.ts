import type { Link } from "../contract/links.ts";
import type { WebhookEvent } from "../contract/webhook-events.ts";
import { queueEvents, type NewEvent } from "./deliveries.ts";
import type { Tally } from "./projects.ts";
import type { Tenant } from "./tables.ts";

/** The events of links and installs. Without a webhook, links cost nothing here. */

type LinkChange = {
  readonly event: Extract<WebhookEvent, `link.${"created" | "updated" | "deleted"}`>;
  readonly link: Link;
  /** The link before an update. */
  readonly before?: Link;
};

export async function queueLinkEvents(
  tenant: Tenant,
  tally: Tally,
  changes: readonly LinkChange[],
  now: number,
): Promise<void> {
  if (tally.webhooks === 0) return;
  const events = changes.flatMap((change) => describeChange(tenant.projectId, change));
  await queueEvents(tenant, events, now);
}

function describeChange(project_id: string, change: LinkChange): readonly NewEvent[] {
  const { event, link, before } = change;
  const data = { project_id, link };
  if (before === undefined) return [{ event, data }];
  const previous = Object.fromEntries(
    Object.entries(before).filter(([field, value]) => {
      // Clicks have an event of their own.
      return field !== "clicks" && link[field] !== value;
    }),
  );
  if (Object.keys(previous).length === 0) return [];
  return [{ event, data: { ...data, previous } }];
}

type ClickedLink = { readonly linkId: string; readonly clicks: number };

/** The reference promises at most this many links in an event. */
const clickedAtOnce = 500;

export async function queueClickEvents(
  tenant: Tenant,
  tally: Tally,
  counted: readonly ClickedLink[],
  now: number,
): Promise<void> {
  if (tally.webhooks === 0) return;
  const links = counted.flatMap(({ linkId: id, clicks }) => (clicks > 0 ? [{ id, clicks }] : []));
  const events: NewEvent[] = [];
  for (let start = 0; start < links.length; start += clickedAtOnce) {
    const some = links.slice(start, start + clickedAtOnce);
    events.push({
      event: "link.clicked",
      data: { project_id: tenant.projectId, links: some },
    });
  }
  await queueEvents(tenant, events, now);
}

/** An app that was installed for a link. */
export type MatchedInstall = {
  readonly link: Link;
  readonly platform: string;
  readonly confidence: string;
  readonly match_score: number;
};

export async function queueInstallEvent(
  tenant: Tenant,
  install: MatchedInstall,
  now: number,
): Promise<void> {
  const data = { project_id: tenant.projectId, ...install };
  await queueEvents(tenant, [{ event: "install.matched", data }], now);
}
