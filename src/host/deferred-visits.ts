import type { SetAlarm } from "../contract/clock.ts";
import { createFlusher } from "../store/background-tasks.ts";
import { writeVisits, type RecordedVisit } from "../store/installs.ts";
import type { Store } from "../store/store.ts";

/** Writes visits for deferred links in batches. */
export type DeferredVisits = {
  readonly note: (noted: RecordedVisit) => Promise<void>;
  readonly close: () => Promise<void>;
};

type DeferredVisitsOptions = {
  readonly store: Pick<Store, "write">;
  readonly setAlarm: SetAlarm;
  readonly report: (error: unknown) => unknown;
};

/** Visits within this time are written in one batch. */
const moment_ms = 50;
/**
 * Beyond this number, visits are dropped, so that memory does not fill up while the database is
 * slow.
 */
const mostGathered = 2000;

export function createDeferredVisits({
  store,
  setAlarm,
  report,
}: DeferredVisitsOptions): DeferredVisits {
  let gathered = new Map<string, RecordedVisit>();
  let isFailing = false;

  async function write(): Promise<void> {
    const batch = [...gathered.values()];
    if (batch.length === 0) return;
    gathered = new Map();
    try {
      await store.write((db) => writeVisits(db, batch));
      isFailing = false;
    } catch (error) {
      // The visits of a failed write are lost. Report only the first of several failures in a row.
      if (!isFailing) report(error);
      isFailing = true;
    }
  }

  const { schedule, close } = createFlusher(write, setAlarm, moment_ms);

  return {
    note: (noted) => {
      const { project_id, id } = noted.visit;
      const name = `${project_id} ${id}`;
      const known = gathered.get(name);
      if (known === undefined && gathered.size >= mostGathered) return Promise.resolve();
      if (known === undefined || noted.isWhole) gathered.set(name, noted);
      return schedule();
    },
    close,
  };
}
