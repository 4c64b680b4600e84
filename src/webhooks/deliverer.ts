import type { Clock, SetAlarm } from "../contract/clock.ts";
import type { Reach } from "../network/hosts/pinned-connection.ts";
import {
  claimWebhook,
  listDueDeliveries,
  listDueWebhooks,
  noteAttempts,
  type Attempt,
  type Delivery,
  type Receiver,
} from "../store/deliveries.ts";
import { StoreBusy, type Store } from "../store/store.ts";
import type { WebhookKey } from "../store/webhooks.ts";
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
  const stopping = new AbortController();
  const breaking = new AbortController();
  const counts = { delivered: 0, failed: 0, given_up: 0 };
  const run = { ...options, counts, stopping: stopping.signal, breaking: breaking.signal };
  const running = new Map<string, Promise<void>>();
  let looking: Promise<void> | undefined;
  let stopAlarm: (() => void) | undefined;

  /** While another process locks the store, or it is away, there is nothing to report. */
  const note = (error: unknown) => {
    if (!(error instanceof StoreBusy)) report(error);
  };

  async function startDue(): Promise<void> {
    await collect().catch(note);
    for (const webhook of await listDueWebhooks(store.db, clock.now(), webhooksAtOnce)) {
      const { id } = webhook;
      if (running.has(id) || running.size >= webhooksAtOnce) continue;
      const ended = deliverTo(webhook, run).catch(note);
      running.set(
        id,
        ended.finally(() => running.delete(id)),
      );
    }
  }

  /** Looks for due events until the process stops. */
  function watch(): void {
    if (stopping.signal.aborted) return;
    const sleep = () => {
      stopAlarm = setAlarm(lookEvery_ms, watch);
    };
    looking = startDue().catch(note).finally(sleep);
  }

  return {
    watch,
    /** Resolves when everything that is due now was tried. */
    deliverDue: async () => {
      await startDue();
      await Promise.all(running.values());
    },
    /** Counts attempts, and events that were given up. */
    measure: () => ({ ...counts }),
    close: async () => {
      stopping.abort();
      const stopBreaking = setAlarm(finish_ms, () => breaking.abort());
      await looking;
      await Promise.all(running.values());
      stopAlarm?.();
      stopBreaking();
    },
  };
}

type Run = Omit<DelivererOptions, "collect" | "report"> & {
  readonly counts: Record<"delivered" | "failed" | "given_up", number>;
  /** From then on, no batch begins. */
  readonly stopping: AbortSignal;
  /** From then on, no request continues. */
  readonly breaking: AbortSignal;
};

/** In batches: before each, the webhook may be revoked, or its project suspended. */
async function deliverTo(webhook: WebhookKey, run: Run): Promise<void> {
  const { store, clock, stopping } = run;
  for (let isMore = true; isMore && !stopping.aborted;) {
    const receiver = await store.write((db) => claimWebhook(db, webhook, clock.now()), patient);
    if (receiver === undefined) return;
    const due = await listDueDeliveries(store.db, webhook, clock.now(), eventsAtOnce);
    const tried = (await Promise.all(due.map((one) => attempt(one, receiver, run)))).flat();
    const state = describeReceiver(receiver, tried, clock.now());
    await store.write((db) => noteAttempts(db, webhook, tried, state), patient);
    isMore = due.length === eventsAtOnce;
  }
}

/** Empty if the process stops meanwhile, which says nothing about the receiver. */
async function attempt(
  delivery: Delivery,
  receiver: Receiver,
  { reach, setAlarm, clock, counts, breaking }: Run,
): Promise<readonly Tried[]> {
  const { event_id, event, body } = delivery;
  const sending = { reach, setAlarm, now: clock.now };
  const fault = await sendMessage({ id: event_id, body }, receiver, sending, breaking);
  if (breaking.aborted) return [];
  counts[fault === undefined ? "delivered" : "failed"] += 1;
  if (fault === undefined) return [{ event_id, event }];
  const failed = { ...planRetry(delivery, clock.now()), fault };
  if (failed.state === "dead") counts.given_up += 1;
  return [{ event_id, event, failed }];
}

type Tried = Attempt & Pick<Delivery, "event">;

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
function describeReceiver(receiver: Receiver, tried: readonly Tried[], now: number) {
  let { failures, failing_since } = receiver;
  for (const { failed } of tried) {
    failures = failed === undefined ? 0 : failures + 1;
    failing_since = failed === undefined ? null : (failing_since ?? now);
  }
  const last = tried.at(-1);
  return {
    failures,
    failing_since,
    next_at: failures >= restsAfter ? now + rest_ms : 0,
    ...(last && { last_event: last.event, last_at: now, last_fault: last.failed?.fault ?? null }),
  };
}
