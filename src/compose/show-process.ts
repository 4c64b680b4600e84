import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Kysely } from "kysely";
import type { SetAlarm } from "../contract/clock.ts";
import { isUnusable } from "../sql/faults.ts";
import { removeProcess, renewProcess } from "../sql/processes.ts";
import { findClockFault } from "./compare-clocks.ts";
import { explainStoreFault } from "./explain-store-fault.ts";

/** Shows others that this process has the database open, and looks at the clocks on the way. */
export type ShownProcess = {
  /**
   * Resolves when others can see it, or it was tried; rejects where the database takes nothing from
   * this process until somebody has seen to it.
   */
  readonly start: (db: Kysely<unknown>) => Promise<void>;
  readonly end: () => Promise<void>;
};

type Showing = {
  readonly setAlarm: SetAlarm;
  /** Tells the operator. */
  readonly warn: (facts: object, message: string) => unknown;
  readonly report: (error: unknown) => unknown;
};

/** Of three turns two may fail before it is taken for dead. */
const renewEvery_ms = 10_000;

export function createShownProcess({ setAlarm, warn, report }: Showing): ShownProcess {
  const own = { id: randomUUID(), host: hostname(), pid: process.pid };
  let shownIn: Kysely<unknown> | undefined;
  let turning: Promise<void> | undefined;
  let isOver = false;
  let isSeen = false;
  let isFailing = false;
  let isClockTold = false;
  let stopAlarm: (() => void) | undefined;

  async function renew(db: Kysely<unknown>): Promise<void> {
    const fault = await findClockFault(() => renewProcess(db, own));
    isSeen = true;
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
    end: async () => {
      isOver = true;
      stopAlarm?.();
      await turning;
      // Where it is away a stop need not wait for it: the row is forgotten by itself.
      if (shownIn !== undefined && isSeen && !isFailing) {
        await removeProcess(shownIn, own.id).catch(() => undefined);
      }
    },
  };
}
