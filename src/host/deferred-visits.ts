import type { SetAlarm } from "../contract/clock.ts";
import { createFlusher } from "../store/flusher.ts";
import { writeVisits, type Noted } from "../store/installs.ts";
import type { Store } from "../store/store.ts";

/** Visits that an install may follow, written to the store a few at a time. */
export type DeferredVisits = {
  /** Resolves when the visit is written, or cannot be. */
  readonly note: (noted: Noted) => Promise<void>;
  /** Writes the visits that are left. */
  readonly close: () => Promise<void>;
};

type Options = {
  readonly store: Pick<Store, "write">;
  readonly setAlarm: SetAlarm;
  /** Reports a failed write to the operator. */
  readonly report: (error: unknown) => unknown;
};

/** Pages report their visits by themselves and at once: those of one moment share a write. */
const moment_ms = 50;
/** A store that takes no write must not fill the memory: from here on, nothing is noted. */
const mostGathered = 2000;

export function createDeferredVisits({ store, setAlarm, report }: Options): DeferredVisits {
  let gathered = new Map<string, Noted>();
  let isFailing = false;

  async function write(): Promise<void> {
    const batch = [...gathered.values()];
    if (batch.length === 0) return;
    gathered = new Map();
    try {
      await store.write((db) => writeVisits(db, batch));
      isFailing = false;
    } catch (error) {
      // They are lost; one report is enough.
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
