import { listDue, type Receiver } from "../store/webhook-turns.ts";
import { deliverToOne, planTurn, type Given } from "./deliver-to-one.ts";

/** Who is delivered to at the same time: those that take long have places of their own. */

export type Couriers = {
  /** Begins the turns of those that something is due for, as far as there are places. */
  readonly startDue: () => Promise<void>;
  /** Resolves when the turns that have begun are over. */
  readonly end: () => Promise<void>;
};

export type Stopping = {
  readonly isStopping: () => boolean;
  /** Breaks off what is on the way. */
  readonly signal: AbortSignal;
};

const mostQuick = 16;
const mostSlow = 32;
const runnerBytes = 9;

type Running = { isSlow: boolean; readonly ended: Promise<void> };

export function createCouriers(
  given: Given,
  stopping: Stopping,
  note: (error: unknown) => void,
): Couriers {
  const { store, clock, random } = given;
  const runner = Buffer.from(random.bytes(runnerBytes)).toString("base64url");
  const running = new Map<string, Running>();
  /** Those that took long when they were last tried. */
  const slow = new Set<string>();

  function hasPlace({ id, failures }: Receiver): boolean {
    const isSlow = failures > 0 || slow.has(id);
    const same = [...running.values()].filter((one) => one.isSlow === isSlow);
    return same.length < (isSlow ? mostSlow : mostQuick);
  }

  function start(receiver: Receiver): void {
    const { id } = receiver;
    const isKnownSlow = receiver.failures > 0 || slow.delete(id);
    const onSlow = () => {
      slow.add(id);
      one.isSlow = true;
    };
    const ended = deliverToOne(receiver, given, { ...stopping, runner, onSlow })
      .catch(note)
      .finally(() => running.delete(id));
    const one: Running = { isSlow: isKnownSlow, ended };
    running.set(id, one);
  }

  return {
    startDue: async () => {
      const turn = planTurn(clock.now());
      // Asked for apart, so that however many fail, there are others as well.
      const due = [
        ...(await listDue(store.db, turn, { areFailing: false, limit: mostQuick + slow.size })),
        ...(await listDue(store.db, turn, { areFailing: true, limit: mostSlow })),
      ];
      for (const receiver of due) {
        if (stopping.isStopping()) return;
        if (!running.has(receiver.id) && hasPlace(receiver)) start(receiver);
      }
    },
    end: async () => {
      await Promise.all([...running.values()].map(({ ended }) => ended));
    },
  };
}
