import { mostSkew_ms } from "../contract/clock-skew.ts";
import type { Clock, Random, SetAlarm } from "../contract/clock.ts";
import type { Reach } from "../network/hosts/pinned-connection.ts";
import {
  givenUpAfter_ms,
  listDueDeliveries,
  noteDelivered,
  noteFailed,
  type Delivery,
} from "../store/deliveries.ts";
import type { Store } from "../store/store.ts";
import { endTurn, mayDeliver, takeTurn, type Receiver } from "../store/webhook-turns.ts";
import { attempt_ms, sendMessage } from "./send-message.ts";

/** One webhook's turn: all that is due for it. */

/** Of attempts whether they were taken, and of events that they were given up. */
export type Outcome = "delivered" | "failed" | "given_up";

export type Given = {
  readonly count: (outcome: Outcome) => void;
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
};

const turn_ms = 60_000;
/** In so much time after an attempt it is written down what came of it. */
const note_ms = 5000;
/** Nothing is begun that might not end within the turn, by any machine's clock. */
const least_ms = attempt_ms + note_ms + mostSkew_ms;
const loaded = 200;
const atOnce = 8;

const firstWait_ms = 5000;
const waitFactor = 3;
const longestWait_ms = 2 * 60 * 60 * 1000;

/** A receiver that has failed so often in a row rests. */
const restsFrom = 10;
const rest_ms = 60_000;

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
  const { runner } = courier;
  const plan = planTurn(clock.now());
  if (!(await store.write((db) => takeTurn(db, receiver, { runner, ...plan }), patient))) return;
  const turn: Turn = { ...given, ...courier, receiver, ends: plan.until, isOver: false };
  try {
    while (mayBegin(turn)) {
      const due = await listDueDeliveries(store.db, receiver, clock.now(), loaded);
      if (due.length === 0) return;
      await deliverAll(due, turn);
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
    readonly ends: number;
    /** Whether the receiver rests now, or another process has the turn. */
    isOver: boolean;
  };

function mayBegin({ isStopping, isOver, ends, clock }: Turn): boolean {
  return !isStopping() && !isOver && ends - clock.now() >= least_ms;
}

/** When one of them ends in an error, all that have begun have ended before. */
async function deliverAll(due: readonly Delivery[], turn: Turn): Promise<void> {
  const left = due.values();
  const work = async () => {
    for (const delivery of left) {
      if (!mayBegin(turn)) return;
      await deliver(delivery, turn).catch((error: unknown) => {
        turn.isOver = true;
        throw error;
      });
    }
  };
  for (const end of await Promise.allSettled(Array.from({ length: atOnce }, work))) {
    if (end.status === "rejected") throw end.reason;
  }
}

async function deliver(delivery: Delivery, turn: Turn): Promise<void> {
  const { store, clock, setAlarm, reach, receiver, runner, signal } = turn;
  // It is looked at before each message: a webhook that is revoked ends at once.
  turn.isOver ||= !(await mayDeliver(store.db, receiver, runner));
  if (turn.isOver) return;
  const message = { id: delivery.event_id, body: delivery.body };
  const sending = { reach, setAlarm, now: clock.now };
  const fault = await sendMessage(message, receiver, sending, signal);
  // Broken off by us, it says nothing of the receiver.
  if (signal.aborted) return;
  if (fault === undefined) {
    turn.count("delivered");
    await store.write((db) => noteDelivered(db, receiver, delivery, clock.now()), patient);
    return;
  }
  turn.count("failed");
  const failed = planRetry(delivery, fault, turn);
  const failures = await store.write((db) => noteFailed(db, receiver, failed), patient);
  if (failures >= restsFrom) turn.isOver = true;
  if (failed.isDead) turn.count("given_up");
}

function planRetry(delivery: Delivery, fault: string, { clock, random }: Turn) {
  const now = clock.now();
  const ends_at = delivery.ends_at ?? now + givenUpAfter_ms;
  return {
    delivery,
    fault,
    now,
    ends_at,
    isDead: now >= ends_at,
    next_at: Math.min(now + waitAfter(delivery.attempts + 1, random), ends_at),
    rest: { from: restsFrom, until: now + rest_ms },
  };
}

/** By a quarter more or less, so that events that failed together do not come back together. */
function waitAfter(attempts: number, random: Random): number {
  const [byte = 0] = random.bytes(1);
  const wait_ms = Math.min(longestWait_ms, firstWait_ms * waitFactor ** (attempts - 1));
  return Math.round(wait_ms * (0.75 + byte / 510));
}
