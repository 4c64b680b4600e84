import { addClicks, type ClickCount } from "../store/clicks.ts";
import { OutcomeUnknown, type Store } from "../store/store.ts";

/** Counts on their way to the store, a batch in a transaction. */
export type ClickBatches = {
  /**
   * Finds out what became of the batch of which that is not known, and tells it. What may be in the
   * store is not written once more before.
   */
  readonly settle: () => Promise<void>;
  /** One batch after the other; throws at the first that fails, and tells of all. */
  readonly write: (counts: readonly ClickCount[], isPatient: () => boolean) => Promise<void>;
  /** What is being written, or may have been. */
  readonly list: () => readonly ClickCount[];
};

type ClickBatchesOptions = {
  readonly store: Pick<Store, "write">;
  /** What became of counts; those that were not written have to be once more. */
  readonly onEnd: (end: "written" | "unwritten" | "lost", counts: readonly ClickCount[]) => void;
};

type Doubt = { readonly batch: readonly ClickCount[]; readonly lookUp: OutcomeUnknown["lookUp"] };

/**
 * Written in one transaction, which holds up other writers. Fewer would write the same pages again
 * and again, and wait for the disk more often.
 */
const batchLinks = 4000;

export function createClickBatches({ store, onEnd }: ClickBatchesOptions): ClickBatches {
  let writing: readonly ClickCount[] = [];
  let doubt: Doubt | undefined;

  async function writeBatch(batch: readonly ClickCount[], isPatient: boolean): Promise<void> {
    try {
      await store.write((db) => addClicks(db, batch), { isPatient });
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
      onEnd(isWritten === undefined ? "lost" : isWritten ? "written" : "unwritten", batch);
    },
    write: async (counts, isPatient) => {
      // In the order of their ids: neighbours share pages, and two processes never deadlock.
      writing = counts.toSorted(byLink);
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

function byLink(one: ClickCount, other: ClickCount): number {
  return one.linkId < other.linkId ? -1 : 1;
}
