import {
  deliveryColumns,
  placeInSubject,
  selectSome,
  selectWaiting,
  untried_at,
} from "./deliveries.ts";
import type { Delivery, Place } from "./deliveries.ts";
import type { DeliveryTable } from "./tables.ts";
import type { Db } from "./tenant.ts";
import type { OwnWebhook } from "./webhooks.ts";

/** Which events of a webhook nothing else of their subjects comes before. */

/** What came about first of all that waits about its subject: no other of it may be told before. */
export type Head = Delivery & Pick<DeliveryTable, "next_at">;

/** Those heads of a webhook that were not tried yet, the latest first or the first one first. */
export async function listUntriedHeads(
  db: Db,
  webhook: OwnWebhook,
  { from, limit }: { readonly from: "latest" | "first"; readonly limit: number },
): Promise<readonly Head[]> {
  const untried = selectHeads(db, webhook).where("next_at", "=", untried_at);
  const way = from === "latest" ? "desc" : "asc";
  const sorted = untried.orderBy("number", way).orderBy("part", way);
  return loadHeads(db, webhook, await sorted.limit(limit).execute());
}

/** Those heads that are due once more by then, in the order in which they are. */
export async function listHeadsAgain(
  db: Db,
  webhook: OwnWebhook,
  { by, limit }: { readonly by: number; readonly limit: number },
): Promise<readonly Head[]> {
  const again = selectHeads(db, webhook)
    .where("next_at", ">", untried_at)
    .where("next_at", "<=", by);
  const sorted = again.orderBy("next_at").orderBy("number").orderBy("part");
  return loadHeads(db, webhook, await sorted.limit(limit).execute());
}

/** The heads of these subjects. */
export async function listHeadsOf(
  db: Db,
  webhook: OwnWebhook,
  subjects: readonly string[],
): Promise<readonly Head[]> {
  return loadHeads(db, webhook, await selectHeads(db, webhook, subjects).execute());
}

/** What waits about a subject, in its order. */
export async function listAbout(
  db: Db,
  webhook: OwnWebhook,
  { subject, limit }: { readonly subject: string; readonly limit: number },
): Promise<readonly Head[]> {
  const waiting = selectSome(db, webhook, limit).select("next_at").where("subject", "=", subject);
  return waiting.orderBy("number").orderBy("part").execute();
}

/** Where the heads are, by what an index has: of tens of thousands no whole row is read. */
function selectHeads(db: Db, webhook: OwnWebhook, subjects?: readonly string[]) {
  const waiting = selectWaiting(db, webhook);
  const own = subjects === undefined ? waiting : waiting.where("subject", "in", subjects);
  const placed = own.select(["number", "part", "next_at", placeInSubject]);
  const first = db.selectFrom(placed.as("placed")).where("place", "=", 1);
  return first.select(["number", "part"]);
}

/** In the order of their places. What was told of at once has several parts of one number. */
async function loadHeads(
  db: Db,
  webhook: OwnWebhook,
  places: readonly Place[],
): Promise<readonly Head[]> {
  if (places.length === 0) return [];
  const numbers = places.map(({ number }) => number);
  const rows = await selectWaiting(db, webhook)
    .select([...deliveryColumns, "next_at"])
    .where("number", "in", numbers)
    .execute();
  const byPlace = new Map(rows.map((row) => [namePlace(row), row]));
  return places.flatMap((place) => byPlace.get(namePlace(place)) ?? []);
}

function namePlace({ number, part }: Place): string {
  return `${number} ${part}`;
}
