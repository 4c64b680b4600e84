import { clicksSubject } from "../store/link-events.ts";
import {
  describeRows,
  listLongestDue,
  listUntried,
  type Delivery,
  type Row,
} from "../store/deliveries.ts";
import type { Db } from "../store/tenant.ts";
import type { OwnWebhook } from "../store/webhooks.ts";
import { listClicked } from "./in-order.ts";

/** Which event tells whether a receiver is back that is asked once a minute. */

const lookedAt = 200;

/**
 * By turns the latest that was not tried yet, which is the least likely one to be refused for what
 * it says, and what is due for longest, so that each is asked for at last: neither those that were
 * refused nor new ones that will be keep another back for ever. Undefined where all of those that
 * were looked at wait for others.
 */
export async function findProbe(
  db: Db,
  webhook: OwnWebhook,
  { now, failures }: { readonly now: number; readonly failures: number },
): Promise<Delivery | undefined> {
  const ways = [
    async () => findFree(db, webhook, await listUntried(db, webhook, lookedAt), now),
    async () => findFree(db, webhook, await listLongestDue(db, webhook, now, lookedAt), now),
  ];
  for (const find of failures % 2 === 1 ? ways : ways.toReversed()) {
    const found = await find();
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The first of them that nothing has to come before. */
async function findFree(
  db: Db,
  webhook: OwnWebhook,
  deliveries: readonly Delivery[],
  now: number,
): Promise<Delivery | undefined> {
  if (deliveries.length === 0) return undefined;
  const subjects = new Set([clicksSubject, ...deliveries.map(({ subject }) => subject)]);
  const rows = await describeRows(db, webhook, [...subjects], now);
  const comesAfterClicks = watchClicks(deliveries, rows.get(clicksSubject), now);
  for (const delivery of deliveries) {
    if (rows.get(delivery.subject)?.number !== delivery.number) continue;
    if (comesAfterClicks(delivery)) continue;
    const links = listClicked(delivery);
    const before = links.length === 0 ? [] : await describeRows(db, webhook, links, now);
    if (![...before].some(([, row]) => holdsUp(row, delivery, now))) return delivery;
  }
  return undefined;
}

/** What waits to be tried again holds up only what has the same subject. */
function holdsUp(row: Row | undefined, { number }: Delivery, now: number): boolean {
  return row !== undefined && row.next_at <= now && row.number < number;
}

/** Whether one of a link comes after clicks of it; as if it did where not all of these are seen. */
function watchClicks(
  deliveries: readonly Delivery[],
  row: Row | undefined,
  now: number,
): (delivery: Delivery) => boolean {
  const seen = deliveries.filter(({ subject }) => subject === clicksSubject);
  const clicks = seen.map((batch) => ({
    number: batch.number,
    links: new Set(listClicked(batch)),
  }));
  return (delivery) => {
    const { event, subject, number } = delivery;
    // Nobody has clicked what was not there.
    if (subject === clicksSubject || event === "link.created") return false;
    if (!holdsUp(row, delivery, now)) return false;
    if (seen.length < (row?.due ?? 0)) return true;
    return clicks.some((batch) => batch.number < number && batch.links.has(subject));
  };
}
