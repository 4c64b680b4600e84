import { OutcomeUnknown, type Store } from "../store/store.ts";
import { writeVisits } from "../store/visit-batches.ts";
import type { Counted } from "./visit-counts.ts";

/** Counts on their way to the store, a batch in a transaction. */
export type ClickBatches = {
  /**
   * Finds out what became of the batch of which that is not known, and tells it. What may be in the
   * store is not written once more before.
   */
  readonly settle: () => Promise<void>;
  /** One batch after the other; throws at the first that fails, and tells of all. */
  readonly write: (counts: readonly Counted[], isPatient: () => boolean) => Promise<void>;
  /** What is being written, or may have been. */
  readonly list: () => readonly Counted[];
};

type ClickBatchesOptions = {
  readonly store: Pick<Store, "write">;
  readonly now: () => number;
  /** What became of counts; those that were not written have to be once more. */
  readonly onEnd: (end: "written" | "unwritten" | "lost", counts: readonly Counted[]) => void;
  /** Clicks of these projects may be written down, and not yet be added to their links. */
  readonly onOwed: (projects: ReadonlySet<string>) => void;
};

type Doubt = { readonly batch: readonly Counted[]; readonly lookUp: OutcomeUnknown["lookUp"] };

/** Written in one transaction, which holds up other writers. */
const batchLinks = 4000;

export function createClickBatches({
  store,
  now,
  onEnd,
  onOwed,
}: ClickBatchesOptions): ClickBatches {
  let writing: readonly Counted[] = [];
  let doubt: Doubt | undefined;

  async function writeBatch(batch: readonly Counted[], isPatient: boolean): Promise<void> {
    try {
      onOwed(await store.write((db) => writeVisits(db, batch, now()), { isPatient }));
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      doubt = { batch, lookUp: error.lookUp };
      writing = writing.slice(batchLinks);
      throw error;
    }
    writing = writing.slice(batchLinks);
    onEnd("written", batch);
  }

  return {
    settle: async () => {
      if (doubt === undefined) return;
      const { batch, lookUp } = doubt;
      const isWritten = await lookUp();
      doubt = undefined;
      onOwed(new Set(batch.map(({ projectId }) => projectId)));
      onEnd(isWritten === undefined ? "lost" : isWritten ? "written" : "unwritten", batch);
    },
    write: async (counts, isPatient) => {
      writing = counts;
      try {
        while (writing.length > 0) await writeBatch(writing.slice(0, batchLinks), isPatient());
      } catch (error) {
        // The batch was not written, and neither was what follows it.
        const unwritten = writing;
        writing = [];
        onEnd("unwritten", unwritten);
        throw error;
      }
    },
    list: () => (doubt === undefined ? writing : [...writing, ...doubt.batch]),
  };
}
