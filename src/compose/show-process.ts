import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Kysely } from "kysely";
import type { Clock, SetAlarm } from "../contract/clock.ts";
import { isUnusable, StoreBusy } from "../sql/faults.ts";
import {
  forgottenAfter_s,
  removeForgotten,
  removeProcess,
  renewProcess,
  type OwnProcess,
} from "../sql/processes.ts";
import { findClockFault } from "./compare-clocks.ts";
import { explainStoreFault } from "./explain-store-fault.ts";

/**
 * Shows others that this process has the database open, and looks at the clocks on the way. Who
 * copies the database counts on it that a process that nobody sees writes nothing.
 */
export type ShownProcess = {
  /**
   * Resolves when others can see it, or it was tried; rejects where the database takes nothing from
   * this process until somebody has seen to it.
   */
  readonly start: (db: Kysely<unknown>) => Promise<void>;
  /**
   * Undefined while others must see it; else it is shown once more, and rejects where that cannot
   * be done. Until it has started nobody need see it.
   */
  readonly requireSeen: () => Promise<void> | undefined;
  readonly end: () => Promise<void>;
};

type Showing = {
  readonly clock: Clock;
  readonly setAlarm: SetAlarm;
  /** Tells the operator. */
  readonly warn: (facts: object, message: string) => unknown;
  readonly report: (error: unknown) => unknown;
};

/** Of three turns two may fail before it is taken for dead. */
const renewEvery_ms = 10_000;
/** A statement may be under way for as long as the rest of the time. */
const surelySeen_ms = forgottenAfter_s * 1000 - renewEvery_ms;

export function createShownProcess({ clock, setAlarm, warn, report }: Showing): ShownProcess {
  const own = { id: randomUUID(), host: hostname(), pid: process.pid };
  const renewOwn = createRenewal(own, warn);
  let shownIn: Kysely<unknown> | undefined;
  let turning: Promise<void> | undefined;
  let renewing: Promise<void> | undefined;
  let isOver = false;
  /** By both clocks: one may be set, and the other stands still while the machine sleeps. */
  let seen: Moment | undefined;
  let isTidy = false;
  let isFailing = false;
  let isClockTold = false;
  let stopAlarm: (() => void) | undefined;

  async function renew(db: Kysely<unknown>): Promise<void> {
    const asked = readMoment(clock);
    const fault = await findClockFault(() => renewOwn(db));
    seen = asked;
    // Those who end in order are few where processes are killed: whoever comes tidies up.
    if (!isTidy) await removeForgotten(db);
    isTidy = true;
    isFailing = false;
    if (fault !== undefined && !isClockTold) warn({}, fault);
    isClockTold = fault !== undefined;
  }

  async function turn(db: Kysely<unknown>, isFirst = false): Promise<void> {
    await renew(db).catch((error: unknown) => {
      if (isFirst && isUnusable(error)) throw error;
      // A database that does not answer is told of by whoever needs it.
      if (!isFailing && explainStoreFault(error) === undefined) report(error);
      isFailing = true;
    });
    if (isOver) return;
    stopAlarm = setAlarm(renewEvery_ms, () => {
      turning = turn(db);
    });
  }

  return {
    start: async (db) => {
      shownIn = db;
      turning = turn(db, true);
      await turning;
    },
    requireSeen: () => {
      if (shownIn === undefined || isOver || isSince(seen, clock)) return undefined;
      renewing ??= renew(shownIn).finally(() => (renewing = undefined));
      return renewing;
    },
    end: async () => {
      isOver = true;
      stopAlarm?.();
      await turning;
      // What comes after the row was taken away would write it anew.
      await renewing?.catch(() => undefined);
      // Where it is away a stop need not wait for it: the row is forgotten by itself.
      if (shownIn !== undefined && seen !== undefined && !isFailing) {
        await removeProcess(shownIn, own.id).catch(() => undefined);
      }
    },
  };
}

/** Rejects where it was left behind, of which the operator is told once. */
function createRenewal(own: OwnProcess, warn: Showing["warn"]) {
  let isTold = false;
  return async (db: Kysely<unknown>): Promise<number> => {
    const now = await renewProcess(db, own);
    if (now !== undefined) return now;
    if (!isTold) warn({}, leftBehind);
    isTold = true;
    throw new StoreBusy(leftBehind, { outage: "away" });
  };
}

const leftBehind =
  "this process stood still for so long that its store was moved meanwhile, or about to be: it " +
  "writes nothing any more; start it anew, with the address of the store that is used now";

type Moment = { readonly now: number; readonly monotonic: number };

function readMoment({ now, monotonic }: Clock): Moment {
  return { now: now(), monotonic: monotonic() };
}

function isSince(seen: Moment | undefined, clock: Clock): boolean {
  if (seen === undefined) return false;
  const { now, monotonic } = readMoment(clock);
  const passed = Math.max(Math.abs(now - seen.now), monotonic - seen.monotonic);
  return passed < surelySeen_ms;
}
