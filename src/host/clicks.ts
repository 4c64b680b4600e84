import type { SetAlarm } from "../contract/clock.ts";
import { addClicks } from "../store/clicks.ts";
import type { Store } from "../store/store.ts";

/**
 * Visits, counted in memory and written down together: a durable write for each would cost more
 * than all the rest of a visit. A process that is killed loses those of its last second.
 */
export type Clicks = {
  readonly note: (projectId: string, linkId: string) => void;
  /**
   * Resolves when what was noted of a link, or of any link of the project, can be read from the
   * store; where the store does not take it, it stays here and the reader sees less.
   */
  readonly settle: (projectId: string, linkId?: string) => Promise<void>;
  /** Writes down what is left. */
  readonly close: () => Promise<void>;
};

type ClicksOptions = {
  readonly store: Pick<Store, "write">;
  readonly setAlarm: SetAlarm;
  /** Notes a failed write where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

type Counted = { readonly projectId: string; readonly linkId: string; count: number };

const flushEvery_ms = 1000;
/** Flushed before the second is over when so many links were visited. */
const flushFrom = 10_000;
/**
 * Written in one transaction, which holds up other writers. Fewer would write the same pages again
 * and again, and wait for the disk more often.
 */
const batchLinks = 4000;
/** A store that takes nothing must not fill the memory: from here on, visits are lost. */
const keptLinks = 100_000;

export function createClicks({ store, setAlarm, report }: ClicksOptions): Clicks {
  /** By link; what is being written is still here, for it may have to be written again. */
  let counted = new Map<string, Counted>();
  let flying: readonly Counted[] = [];
  let isFailing = false;

  async function write(): Promise<void> {
    // In the order of their ids: neighbours share pages, and two processes never wait crosswise.
    flying = [...counted.values()].toSorted(byLink);
    counted = new Map();
    try {
      while (flying.length > 0) {
        const batch = flying.slice(0, batchLinks);
        await store.write((db) => addClicks(db, batch));
        flying = flying.slice(batchLinks);
      }
      isFailing = false;
    } catch (error) {
      // The batch was not written; it stays with what follows it, and one report is enough.
      for (const { projectId, linkId, count } of flying) add(projectId, linkId, count);
      flying = [];
      if (!isFailing) report(error);
      isFailing = true;
    }
  }

  const flusher = createFlusher(write, setAlarm);

  function add(projectId: string, linkId: string, count: number): void {
    const known = counted.get(linkId);
    if (known !== undefined) known.count += count;
    else if (counted.size < keptLinks) counted.set(linkId, { projectId, linkId, count });
    flusher.schedule();
  }

  function isWaiting(projectId: string, linkId: string | undefined): boolean {
    if (linkId !== undefined && counted.has(linkId)) return true;
    const candidates = linkId === undefined ? [...counted.values(), ...flying] : flying;
    return candidates.some(
      (one) => one.projectId === projectId && (linkId ?? one.linkId) === one.linkId,
    );
  }

  return {
    note: (projectId, linkId) => {
      add(projectId, linkId, 1);
      if (counted.size >= flushFrom && !isFailing) void flusher.flush();
    },
    settle: async (projectId, linkId) => {
      if (isWaiting(projectId, linkId)) await flusher.flush();
    },
    close: flusher.close,
  };
}

function byLink(one: Counted, other: Counted): number {
  return one.linkId < other.linkId ? -1 : 1;
}

type Flusher = {
  /** Writes within the next second. */
  readonly schedule: () => void;
  /** Writes after what is being written now, whatever is there by then. */
  readonly flush: () => Promise<void>;
  readonly close: () => Promise<void>;
};

function createFlusher(write: () => Promise<void>, setAlarm: SetAlarm): Flusher {
  let last: Promise<void> = Promise.resolve();
  let queued: Promise<void> | undefined;
  let cancel: (() => void) | undefined;

  function flush(): Promise<void> {
    queued ??= last.then(() => {
      queued = undefined;
      return write();
    });
    last = queued;
    return queued;
  }

  return {
    schedule: () => {
      cancel ??= setAlarm(flushEvery_ms, () => {
        cancel = undefined;
        void flush();
      });
    },
    flush,
    close: async () => {
      await flush();
      cancel?.();
    },
  };
}
