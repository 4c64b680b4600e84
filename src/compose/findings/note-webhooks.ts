import type { Config } from "../../config.ts";
import { writeLocalTime } from "../../contract/local-time.ts";
import { listDueWebhooks, listWebhooks, type Webhook } from "../../store/webhooks.ts";
import type { Store } from "../../store/store.ts";
import { findFix } from "../../webhooks/reach.ts";
import { readTimeZone } from "../time-zone.ts";
import type { Note } from "./finding.ts";

/** One that was away for a moment needs nobody, and a process that starts has its hands full. */
const patience_ms = 5 * 60_000;
/** The rest is in the list. */
const mostTold = 20;
const about = "webhooks";

/** How the receivers of all projects do; nothing is said where there is none. */
export async function noteWebhooks(
  { db }: Pick<Store, "db">,
  config: Config,
  now: number,
  note: Note,
): Promise<void> {
  const webhooks = await listWebhooks(db);
  if (webhooks.length === 0) return;
  const zone = readTimeZone(config);
  const tell = (time: number) => writeLocalTime(time, zone);
  const due = await listDueWebhooks(db, now - patience_ms, webhooks.length);
  const overdue = new Map(due.map(({ id, since }) => [id, since]));
  let told = 0;
  for (const webhook of webhooks) {
    const findings = listFindings(webhook, { overdue: overdue.get(webhook.id), now, tell });
    for (const finding of findings) if (told < mostTold) note({ about, ...finding });
    told += findings.length;
  }
  const waiting = webhooks.reduce((sum, each) => sum + each.waiting, 0);
  if (told > mostTold) {
    note({ about, said: `and ${told - mostTold} more; waypost webhooks list shows all` });
  }
  if (told > 0) return;
  const count = webhooks.length === 1 ? "1 webhook" : `${webhooks.length} webhooks`;
  note({ about, said: `${count}, no failed deliveries; ${tellWaiting(waiting)}` });
}

type Looked = {
  /** When the oldest event that was due some minutes ago was created. */
  readonly overdue: number | undefined;
  readonly now: number;
  readonly tell: (time: number) => string;
};

type Told = { readonly fault: string } | { readonly said: string };

function listFindings(webhook: Webhook, { overdue, now, tell }: Looked): readonly Told[] {
  const { id, url, waiting, dead, failing_since, last_at, last_fault } = webhook;
  // The whole address may be a secret of its receiver's.
  const name = `${new URL(url).host} (${id})`;
  const isLeftAlone = Math.max(overdue ?? now, last_at ?? 0) <= now - patience_ms;
  const found: Told[] = [];
  if (overdue !== undefined && isLeftAlone) {
    const since = waiting === 1 ? "since" : "the oldest since";
    const fault =
      `No server delivers to ${name}: ${tellWaiting(waiting)}, ${since} ${tell(overdue)}. ` +
      "Start waypost serve, which delivers them";
    found.push({ fault });
  } else if (failing_since !== null) {
    const mend = findFix(last_fault);
    const [cause, how] =
      mend === undefined ? ["Check the receiver", ""] : ["Check its address", `. ${mend}`];
    const line =
      `${name} has accepted no events since ${tell(failing_since)} ` +
      `(${last_fault ?? "no answer"}); ` +
      `${tellWaiting(waiting)}. ${cause}, then run waypost webhooks test ${id}${how}`;
    found.push(failing_since <= now - patience_ms ? { fault: line } : { said: line });
  }
  if (dead > 0) {
    const [lost, them] =
      dead === 1
        ? [`1 event for ${name} could not be delivered. It is`, "it"]
        : [`${dead} events for ${name} could not be delivered. They are`, "them"];
    const resend = `waypost webhooks resend ${id} sends ${them} again`;
    found.push({ said: `${lost} kept for a week: ${resend}` });
  }
  return found;
}

function tellWaiting(waiting: number): string {
  return waiting === 1 ? "1 event is waiting" : `${waiting} events are waiting`;
}
