import type { Clock, SetAlarm } from "../contract/clock.ts";
import type { Reach } from "../network/hosts/pinned-connection.ts";
import { repeatEvery } from "../store/chores.ts";
import { StoreBusy, type Store } from "../store/store.ts";
import {
  claimWebhook,
  listDueWebhooks,
  noteAttempts,
  type Attempt,
  type Delivery,
  type Claim,
  type WebhookKey,
} from "../store/webhooks.ts";
import { sendMessage } from "./send-message.ts";

/** Sends the events of the outbox for as long as a process serves. */

export type DelivererOptions = {
  readonly store: Pick<Store, "db" | "write">;
  readonly clock: Clock;
  readonly setAlarm: SetAlarm;
  readonly reach: Reach;
  /** Moves events of jobs and approvals into the outbox. */
  readonly collect: () => Promise<void>;
  /** Notes an unexpected error where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

export type Deliverer = ReturnType<typeof createDeliverer>;

const lookEvery_ms = 1000;
const webhooksAtOnce = 48;
/** Events on their way to one webhook. */
const eventsAtOnce = 8;
/** Requests that are under way when the process stops have this long to end. */
const finish_ms = 3000;

const firstWait_ms = 5000;
const waitFactor = 3;
const longestWait_ms = 2 * 60 * 60 * 1000;
/** From the first failed attempt. */
const givenUpAfter_ms = 24 * 60 * 60 * 1000;
/** A receiver that has failed this often in a row rests. */
const restsAfter = 10;
const rest_ms = 60_000;

const patient = { isPatient: true };

export function createDeliverer(options: DelivererOptions) {
  const { store, clock, setAlarm, collect, report } = options;
  const { deliverTo, measure, stop } = createSender(options);
  const running = new Map<string, Promise<void>>();
  let stopWatching: (() => Promise<void>) | undefined;

  /** While another process locks the store, or it is away, there is nothing to report. */
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) report(error);
  };

  async function startDue(): Promise<void> {
    await collect().catch(note);
    for (const webhook of await listDueWebhooks(store.db, clock.now(), webhooksAtOnce)) {
      const { id } = webhook;
      if (running.has(id) || running.size >= webhooksAtOnce) continue;
      const delivering = deliverTo(webhook).catch(note);
      running.set(
        id,
        delivering.finally(() => running.delete(id)),
      );
    }
  }

  return {
    /** Looks for due events until the process stops. */
    watch: () => {
      stopWatching = repeatEvery(lookEvery_ms, setAlarm, () => startDue().catch(note));
    },
    /** Resolves when everything that is due now was tried. */
    deliverDue: async () => {
      await startDue();
      await Promise.all(running.values());
    },
    measure,
    close: async () => {
      const cancelBreak = stop();
      await stopWatching?.();
      await Promise.all(running.values());
      cancelBreak();
    },
  };
}

function createSender(options: DelivererOptions) {
  const { store, clock, setAlarm } = options;
  /** From then on, no batch begins. */
  let isStopping = false;
  /** From then on, no request continues. */
  const breaking = new AbortController();
  const counts = { delivered: 0, failed: 0, given_up: 0 };

  /** Empty if the process stops meanwhile, which says nothing about the receiver. */
  async function attempt(
    delivery: Delivery,
    receiver: Claim["receiver"],
  ): Promise<readonly Attempt[]> {
    const { event_id, event, body } = delivery;
    const sending = { ...options, now: clock.now };
    const fault = await sendMessage({ id: event_id, body }, receiver, sending, breaking.signal);
    if (breaking.signal.aborted) return [];
    counts[fault === undefined ? "delivered" : "failed"] += 1;
    if (fault === undefined) return [{ event_id, event }];
    const failed = { ...planRetry(delivery, clock.now()), fault };
    if (failed.state === "dead") counts.given_up += 1;
    return [{ event_id, event, failed }];
  }

  return {
    /** In batches: before each, the webhook may be revoked, or its project suspended. */
    deliverTo: async (webhook: WebhookKey): Promise<void> => {
      for (let isMore = true; isMore && !isStopping;) {
        const batch = { now: clock.now(), limit: eventsAtOnce };
        const claim = await store.write((db) => claimWebhook(db, webhook, batch), patient);
        if (claim === undefined) return;
        const { receiver, due } = claim;
        const attempts = (await Promise.all(due.map((one) => attempt(one, receiver)))).flat();
        const state = describeReceiver(receiver, attempts, clock.now());
        await store.write((db) => noteAttempts(db, webhook, attempts, state), patient);
        isMore = due.length === eventsAtOnce;
      }
    },
    /** Counts attempts, and events that were given up. */
    measure: () => ({ ...counts }),
    stop: () => {
      isStopping = true;
      return setAlarm(finish_ms, () => breaking.abort());
    },
  };
}

function planRetry({ attempts, ends_at }: Delivery, now: number) {
  const end = ends_at ?? now + givenUpAfter_ms;
  const wait_ms = Math.min(longestWait_ms, firstWait_ms * waitFactor ** attempts);
  const isDead = now >= end;
  return {
    attempts: attempts + 1,
    state: isDead ? ("dead" as const) : ("waiting" as const),
    next_at: isDead ? now : Math.min(now + wait_ms, end),
    ends_at: end,
  };
}

/** The receiver after these attempts. The next batch may go to it at once, unless it rests. */
function describeReceiver(receiver: Claim["receiver"], attempts: readonly Attempt[], now: number) {
  let { failures, failing_since } = receiver;
  for (const { failed } of attempts) {
    failures = failed === undefined ? 0 : failures + 1;
    failing_since = failed === undefined ? null : (failing_since ?? now);
  }
  const last = attempts.at(-1);
  return {
    failures,
    failing_since,
    next_at: failures >= restsAfter ? now + rest_ms : 0,
    ...(last && { last_event: last.event, last_at: now, last_fault: last.failed?.fault ?? null }),
  };
}
