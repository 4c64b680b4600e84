import type { Kysely } from "kysely";
import type { SetAlarm } from "../../contract/clock.ts";
import { findClockFault } from "./compare-clocks.ts";
import { explainStoreFault } from "./explain-store-fault.ts";

type Options = {
  readonly setAlarm: SetAlarm;
  /** Tells the operator. */
  readonly warn: (facts: object, message: string) => unknown;
  readonly report: (error: unknown) => unknown;
};

/** More often than an idle connection is closed: by it others see that this process is there. */
const lookEvery_ms = 10_000;

/** Compares the clock with the database's until it is stopped. */
export async function watchClock(
  db: Kysely<unknown>,
  { setAlarm, warn, report }: Options,
): Promise<() => void> {
  let isWarned = false;
  let isOver = false;
  let stopAlarm: (() => void) | undefined;

  async function look(): Promise<void> {
    try {
      const fault = await findClockFault(db);
      if (fault !== undefined && !isWarned) warn({}, fault);
      isWarned = fault !== undefined;
    } catch (error) {
      // Whatever needs a database that does not answer reports that.
      if (explainStoreFault(error) === undefined) report(error);
    }
    if (!isOver) stopAlarm = setAlarm(lookEvery_ms, () => void look());
  }

  await look();
  return () => {
    isOver = true;
    stopAlarm?.();
  };
}
