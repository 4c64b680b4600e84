import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import type { Reach } from "../network/hosts/pinned-connection.ts";
import {
  holdBack,
  isBefore,
  letGo,
  listDueDeliveries,
  listHeld,
  noteDelivered,
  noteFailed,
  type Delivery,
} from "../store/deliveries.ts";
import { findEnd } from "../store/delivery-days.ts";
import { listHeadsAgain } from "../store/delivery-heads.ts";
import type { Store } from "../store/store.ts";
import { toFlag } from "../store/tables.ts";
import {
  awayFrom,
  endTurn,
  keepTurn,
  mayDeliver,
  takeTurn,
  type Receiver,
} from "../store/webhook-turns.ts";
import { restAfter, waitAfter } from "./backoff.ts";
import { findProbe } from "./find-probe.ts";
import { doInOrder } from "./in-order.ts";
import { attempt_ms, sendMessage } from "./send-message.ts";

/** One webhook's turn: all that is due for it, each link's events one after the other. */

/** Of attempts whether they were taken, and of events that they were given up. */
export type Outcome = "delivered" | "failed" | "given_up";

export type Given = {
  readonly count: (outcome: Outcome, times?: number) => void;
  readonly store: Pick<Store, "db" | "write">;
  readonly clock: Clock;
  readonly random: Random;
  readonly setAlarm: SetAlarm;
  readonly reach: Reach;
};

export type Courier = {
  /** This process. */
  readonly runner: string;
  /** Ends the turn after what is on the way, and soon that as well. */
  readonly isStopping: () => boolean;
  readonly signal: AbortSignal;
  /** Called when the receiver takes its time. */
  readonly onSlow: () => void;
};

const turn_ms = 30_000;
/** In so much time after an attempt it is written down what came of it. */
const note_ms = 5000;
/** Nothing is begun that might not end within the turn, by any machine's clock. */
const least_ms = attempt_ms + note_ms + mostSkew_ms;
const loaded = 200;
const atOnce = 8;
const slowFrom_ms = 1000;

/** From when to when a turn that is taken now lasts. */
export function planTurn(now: number) {
  return { now, until: now + turn_ms, latest: now + turn_ms + mostSkew_ms };
}

export async function deliverToOne(
  receiver: Receiver,
  given: Given,
  courier: Courier,
): Promise<void> {
  const { store, clock } = given;
  const { runner, isStopping } = courier;
  const first = { runner, ...planTurn(clock.now()) };
  if (!(await store.write((db) => takeTurn(db, receiver, first), patient))) return;
  const { failures } = receiver;
  const turn: Turn = {
    ...given,
    ...courier,
    receiver,
    ends: first.until,
    lengthening: undefined,
    failures,
    isLost: false,
  };
  try {
    while (!isStopping() && !turn.isLost) {
      const due = await loadDue(turn);
      if (due.length === 0) return;
      const before = turn.failures;
      await deliverAll(due, turn);
      if (turn.failures >= awayFrom && turn.failures > before) return;
    }
  } finally {
    await store.write((db) => endTurn(db, receiver, runner), patient);
  }
}

const patient = { isPatient: true };

type Turn = Given &
  Courier & {
    readonly receiver: Receiver;
    /** When another process may take its place. */
    ends: number;
    /** While it is had last longer, nothing is begun. */
    lengthening: Promise<void> | undefined;
    isLost: boolean;
    /** One after the other, up to now. */
    failures: number;
  };

/** What may be told now, in its order. */
async function loadDue(turn: Turn): Promise<readonly Delivery[]> {
  const { store, clock, receiver, failures } = turn;
  const isAway = failures >= awayFrom;
  while (!turn.isStopping()) {
    const now = clock.now();
    // Whether it is back, one message tells as well as many.
    const asked = { db: store.db, webhook: receiver, now };
    const probe = isAway ? await findProbe(asked, failures) : undefined;
    if (probe !== undefined) return [probe];
    const due = await listDueDeliveries(store.db, receiver, now, loaded);
    if (due.length === 0) return isAway ? await listEarly(turn, now) : [];
    const subjects = [...new Set(due.map(({ subject }) => subject))];
    const held = await listHeld(store.db, receiver, subjects, now);
    // They came about while what is before them waits to be tried again.
    for (const [subject, hold] of held) {
      while (!(await store.write((db) => holdBack(db, receiver, subject, hold), patient)));
    }
    const free = due.filter((one) => {
      const hold = held.get(one.subject);
      return hold === undefined || isBefore(one, hold.from);
    });
    if (free.length > 0) return isAway ? free.slice(0, 1) : free;
  }
  return [];
}

/** What is due next, where a receiver that is away was left alone for long. */
async function listEarly({ store, receiver }: Turn, now: number): Promise<readonly Delivery[]> {
  const { due_by } = receiver;
  if (due_by <= now) return [];
  return listHeadsAgain(store.db, receiver, { by: due_by, limit: 1 });
}

/** Until all are through or the receiver turns out to be away. */
async function deliverAll(due: readonly Delivery[], turn: Turn): Promise<void> {
  const before = turn.failures;
  const isAway = () => turn.failures >= awayFrom && turn.failures > before;
  let goesOn = true;
  /** What was not taken, which nothing about the same may come before. */
  const left = new Set<string>();
  await doInOrder(due, atOnce, async (delivery) => {
    const { subject } = delivery;
    goesOn &&= !turn.isStopping() && !turn.isLost && !isAway();
    if (!goesOn || left.has(subject)) return;
    left.add(subject);
    const taken = deliver(delivery, turn).catch((error: unknown) => {
      goesOn = false;
      throw error;
    });
    if (await taken) left.delete(subject);
  });
}

/** Whether it was taken. */
async function deliver(delivery: Delivery, turn: Turn): Promise<boolean> {
  const { store, clock, setAlarm, reach, receiver, signal, onSlow } = turn;
  await lengthen(turn);
  // It is looked at before each message: a webhook that is revoked ends at once.
  turn.isLost ||= !(await mayDeliver(store.db, receiver, turn.runner));
  if (turn.isLost) return false;
  const stopAlarm = setAlarm(slowFrom_ms, onSlow);
  const message = { id: delivery.event_id, body: delivery.body };
  const sending = { reach, setAlarm, now: clock.now };
  const fault = await sendMessage(message, receiver, sending, signal).finally(stopAlarm);
  // Broken off by us, it says nothing of the receiver.
  if (signal.aborted) return false;
  if (fault === undefined) {
    const wasAway = turn.failures >= awayFrom;
    turn.failures = 0;
    turn.count("delivered");
    if (wasAway) await letAllGo(delivery, turn);
    await store.write((db) => noteDelivered(db, receiver, delivery, clock.now()), patient);
    return true;
  }
  turn.count("failed");
  turn.failures += 1;
  const failed = planRetry(delivery, fault, turn);
  await store.write((db) => noteFailed(db, receiver, failed), patient);
  if (failed.isDead) turn.count("given_up");
  return false;
}

/** Before the receiver is noted to be back: whoever goes on for this process does it as well. */
async function letAllGo(taken: Delivery, { store, clock, receiver }: Turn): Promise<void> {
  const now = clock.now();
  while (!(await store.write((db) => letGo(db, receiver, taken, now), patient)));
}

function planRetry(delivery: Delivery, fault: string, { clock, random, failures }: Turn) {
  const now = clock.now();
  const ends_at = findEnd(delivery, now);
  return {
    delivery,
    fault,
    now,
    ends_at,
    isDead: now >= ends_at,
    next_at: Math.min(now + waitAfter(delivery.attempts + 1, random), Math.max(ends_at, now + 1)),
    // Those by which it turns out to be away may have been refused themselves.
    refused: toFlag(failures <= awayFrom),
    rests_until: now + restAfter(failures, awayFrom, random),
  };
}

/** Has the turn last for as long as an attempt may take. */
async function lengthen(turn: Turn): Promise<void> {
  if (turn.ends - turn.clock.now() >= least_ms) return;
  turn.lengthening ??= keep(turn).finally(() => {
    turn.lengthening = undefined;
  });
  await turn.lengthening;
}

async function keep(turn: Turn): Promise<void> {
  const { store, clock, receiver, runner } = turn;
  const { until } = planTurn(clock.now());
  const kept = await store.write((db) => keepTurn(db, receiver, { runner, until }), patient);
  if (kept) turn.ends = until;
}
