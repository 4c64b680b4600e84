import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Kysely } from "kysely";
import { removeForgotten, removeProcess, renewProcess } from "../sql/processes.ts";
import { findClockFault } from "./compare-clocks.ts";
import { setAlarm } from "./embedded.ts";
import { explainStoreFault } from "./explain-store-fault.ts";

/** Shows others that this process has the database open, and looks at the clocks on the way. */

type Showing = {
  readonly db: Kysely<unknown>;
  /** Tells the operator. */
  readonly warn: (facts: object, message: string) => unknown;
  readonly report: (error: unknown) => unknown;
};

/** Of three turns two may fail before it is taken for dead. */
const renewEvery_ms = 10_000;

/** Resolves when others can see it. */
export async function showProcess({ db, warn, report }: Showing) {
  const own = { id: randomUUID(), host: hostname(), pid: process.pid };
  let isOver = false;
  let isSeen = false;
  let isTidy = false;
  let isFailing = false;
  let isClockTold = false;
  let stopAlarm: (() => void) | undefined;

  async function renew(): Promise<void> {
    const fault = await findClockFault(() => renewProcess(db, own));
    // Those who end in order are few where processes are killed: whoever comes tidies up.
    if (!isTidy) await removeForgotten(db);
    isTidy = true;
    isSeen = true;
    isFailing = false;
    if (fault !== undefined && !isClockTold) warn({}, fault);
    isClockTold = fault !== undefined;
  }

  async function turn(): Promise<void> {
    await renew().catch((error: unknown) => {
      isSeen = false;
      // A database that does not answer is told of by whoever needs it.
      if (!isFailing && explainStoreFault(error) === undefined) report(error);
      isFailing = true;
    });
    if (isOver) return;
    stopAlarm = setAlarm(renewEvery_ms, () => {
      turning = turn();
    });
  }

  let turning = turn();
  await turning;
  return {
    end: async () => {
      isOver = true;
      stopAlarm?.();
      await turning;
      // Where it is away a stop need not wait for it: the row is forgotten by itself.
      if (isSeen) await removeProcess(db, own.id).catch(() => undefined);
    },
  };
}
