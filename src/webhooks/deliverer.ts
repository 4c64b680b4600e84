import { repeatEvery } from "../store/background-tasks.ts";
import { StoreBusy, type Store } from "../store/store.ts";
import type { Db, DeliveryTable, WebhookTable } from "../store/tables.ts";
import { claimWebhook, listDueWebhooks, saveAttempts, type WebhookKey } from "../store/webhooks.ts";
import { sendMessage, type SendOptions } from "./send-message.ts";

/** Delivers the events in the outbox to webhooks for as long as the server runs. */

type DelivererOptions = SendOptions & {
  readonly store: Pick<Store, "db" | "write">;
  /** Moves events about jobs and approvals to the outbox. */
  readonly collect: () => Promise<void>;
  readonly report: (error: unknown) => unknown;
};

export type Deliverer = ReturnType<typeof createDeliverer>;

const pollInterval_ms = 1000;
const webhooksAtOnce = 48;
/** The maximum number of concurrent requests to one webhook. */
const eventsAtOnce = 8;
/** How long pending requests may continue once the process is stopping. */
const finish_ms = 3000;

const firstWait_ms = 5000;
const waitFactor = 3;
const longestWait_ms = 2 * 60 * 60 * 1000;
/** Delivery is given up this long after an event's first failed attempt. */
const givenUpAfter_ms = 24 * 60 * 60 * 1000;

const patient = { isPatient: true };

export function createDeliverer(options: DelivererOptions) {
  const { store, clock, setAlarm, collect, report } = options;
  /** How many attempts succeeded and failed, and how many events were given up. */
  const counts = { delivered: 0, failed: 0, given_up: 0 };
  const running = new Set<Promise<void>>();
  let stopWatching: (() => Promise<void>) | undefined;
  let isStopping = false;
  const breaking = new AbortController();

  /** Reports an error, unless the database is only locked or unreachable. */
  const note = (error: unknown) => void (error instanceof StoreBusy || report(error));

  async function startDue(): Promise<void> {
    await collect().catch(note);
    const limit = webhooksAtOnce - running.size;
    for (const webhook of await listDueWebhooks(store.db, clock.now(), limit)) {
      const delivering = deliverTo(webhook).catch(note);
      running.add(delivering);
      void delivering.finally(() => running.delete(delivering));
    }
  }

  /**
   * Delivers a webhook's events in batches. The webhook is claimed again for each batch, because it
   * may have been deleted or its project suspended.
   */
  async function deliverTo(key: WebhookKey): Promise<void> {
    for (let isMore = true; isMore && !isStopping;) {
      const claim = (db: Db) => claimWebhook(db, key, clock.now(), eventsAtOnce);
      const { webhook, due } = (await store.write(claim, patient)) ?? {};
      if (webhook === undefined || due === undefined) return;
      const attempts = (await Promise.all(due.map((each) => tryOnce(each, webhook)))).flat();
      await store.write((db) => saveAttempts(db, webhook, attempts, clock.now()), patient);
      isMore = due.length === eventsAtOnce;
    }
  }

  /**
   * Tries to deliver an event. Returns the event with its result. Returns an empty list if the
   * attempt was aborted because the process is stopping.
   */
  async function tryOnce(delivery: DeliveryTable, webhook: WebhookTable) {
    const fault = await sendMessage(delivery, webhook, options, breaking.signal);
    if (fault !== null && breaking.signal.aborted) return [];
    const tried = { ...(fault === null ? delivery : planRetry(delivery, clock.now())), fault };
    counts[fault === null ? "delivered" : "failed"] += 1;
    if (tried.state === "dead") counts.given_up += 1;
    return [tried];
  }

  return {
    watch: () => {
      stopWatching = repeatEvery(pollInterval_ms, setAlarm, () => startDue().catch(note));
    },
    deliverDue: async () => {
      await startDue();
      await Promise.all(running);
    },
    measure: () => ({ ...counts }),
    close: async () => {
      isStopping = true;
      const cancelBreak = setAlarm(finish_ms, () => breaking.abort());
      await stopWatching?.();
      await Promise.all(running);
      cancelBreak();
    },
  };
}

function planRetry(delivery: DeliveryTable, now: number): DeliveryTable {
  const { attempts, ends_at } = delivery;
  const end = ends_at ?? now + givenUpAfter_ms;
  const failed = { ...delivery, attempts: attempts + 1, ends_at: end };
  if (now >= end) return { ...failed, state: "dead", next_at: now };
  const wait_ms = Math.min(longestWait_ms, firstWait_ms * waitFactor ** attempts);
  return { ...failed, next_at: Math.min(now + wait_ms, end) };
}
