import { clicksSubject } from "../store/link-events.ts";
import type { Delivery } from "../store/deliveries.ts";
import {
  listAbout,
  listHeadsAgain,
  listHeadsOf,
  listUntriedHeads,
  type Head,
} from "../store/delivery-heads.ts";
import type { Db } from "../store/tenant.ts";
import type { OwnWebhook } from "../store/webhooks.ts";
import { listClicked } from "./in-order.ts";

/** Which event tells whether a receiver is back that is asked once a minute. */

type Asked = { readonly db: Db; readonly webhook: OwnWebhook; readonly now: number };

const limit = 200;
/** Of more batches of clicks is not looked up whose they are: each has up to 500 links. */
const mostRead = 20;

/**
 * By turns the latest that was not tried yet, which is the least likely one to be refused for what
 * it says, what is due once more for longest, and the first that was not tried: each is asked for
 * at last, and neither those that were refused nor new ones that will be keep another back for
 * ever. Undefined where nothing is due that may be told.
 */
export async function findProbe(asked: Asked, failures: number): Promise<Delivery | undefined> {
  const { db, webhook, now } = asked;
  const latest = () => listUntriedHeads(db, webhook, { from: "latest", limit });
  const again = () => listHeadsAgain(db, webhook, { by: now, limit });
  const first = () => listUntriedHeads(db, webhook, { from: "first", limit });
  const ways = [latest, again, latest, first];
  const turn = failures % ways.length;
  const readClicks = await openClicks(asked);
  // What has nothing to tell is not asked for once more.
  for (const list of new Set([...ways.slice(turn), ...ways.slice(0, turn)])) {
    const found = await findFree(asked, await list(), readClicks);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * The first of them that nothing has to come before. Clicks and their links' other events wait for
 * each other until they were tried twice: what is refused again and again holds up nothing else.
 */
async function findFree(
  { db, webhook, now }: Asked,
  heads: readonly Head[],
  readClicks: ReadClicks,
): Promise<Head | undefined> {
  for (const head of heads) {
    const before =
      head.subject === clicksSubject
        ? await listHeadsOf(db, webhook, listClicked(head))
        : readClicks(head);
    if (!before.some((one) => holdsUp(one, head, now))) return head;
  }
  return undefined;
}

/** The first of the clicks, where some of a link's are before it, or may be. */
type ReadClicks = (head: Head) => readonly Head[];

async function openClicks({ db, webhook }: Asked): Promise<ReadClicks> {
  const batches = await listAbout(db, webhook, { subject: clicksSubject, limit: mostRead + 1 });
  const first = batches.slice(0, 1);
  const clicked = batches.map((batch) => ({ ...batch, links: new Set(listClicked(batch)) }));
  return ({ event, subject, number }) => {
    // Nobody has clicked what was not there.
    if (event === "link.created") return [];
    if (batches.length > mostRead) return first;
    return clicked.some((batch) => batch.number < number && batch.links.has(subject)) ? first : [];
  };
}

function holdsUp({ attempts, next_at, number }: Head, head: Head, now: number): boolean {
  return attempts < 2 && next_at <= now && number < head.number;
}
