import type { Awaitable } from "../contract/awaitable.ts";
import type { SetAlarm } from "../contract/clock.ts";
import type { ClickCount } from "../store/clicks.ts";
import type { Store } from "../store/store.ts";
import { createClickBatches } from "./click-batches.ts";

/**
 * Clicks, counted in memory and written to the store together: a durable write for each would cost
 * more than all the rest of a visit. A process that is killed loses those of its last second.
 */
export type Clicks = {
  readonly note: (projectId: string, linkId: string) => void;
  /**
   * Resolves when the counts of a link, or of every link of the project, are in the store; where
   * the store refuses them, they stay here and the reader sees less.
   */
  readonly flush: (projectId: string, linkId?: string) => Awaitable<void>;
  readonly measure: () => ClickMeasures;
  /** Writes what is left. */
  readonly close: () => Promise<void>;
};

/**
 * Clicks since the start; those that wait are counted, and not yet written or not known to be. Of
 * those that are lost, some may have been written.
 */
type ClickMeasures = Readonly<Record<"counted" | "written" | "waiting" | "lost", number>>;

type ClicksOptions = {
  readonly store: Pick<Store, "write">;
  readonly setAlarm: SetAlarm;
  /** Notes a failed write where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

type Count = Omit<ClickCount, "count"> & { count: number };

const flushInterval_ms = 1000;
/** When so many links were visited, the counts are written before the second is over. */
const earlyFlushLinks = 10_000;
/** A store that takes nothing must not fill the memory: from here on, visits are lost. */
const mostLinks = 100_000;

export function createClicks({ store, setAlarm, report }: ClicksOptions): Clicks {
  /** By link. */
  let counted = new Map<string, Count>();
  let isFailing = false;
  const measured = { counted: 0, written: 0, lost: 0 };
  /** Who reads a count waits for its write, which is then in a hurry; else it lets others go. */
  let readers = 0;
  const batches = createClickBatches({
    store,
    onEnd: (end, counts) => {
      if (end === "unwritten") counts.forEach(add);
      else measured[end] += counts.reduce((sum, { count }) => sum + count, 0);
    },
  });

  async function write(): Promise<void> {
    try {
      await batches.settle();
      const counts = [...counted.values()];
      counted = new Map();
      await batches.write(counts, () => readers === 0);
      isFailing = false;
    } catch (error) {
      // One report is enough.
      if (!isFailing) report(error);
      isFailing = true;
      flusher.schedule();
    }
  }

  const flusher = createFlusher(write, setAlarm);

  function add({ projectId, linkId, count }: ClickCount): void {
    const known = counted.get(linkId);
    if (known !== undefined) known.count += count;
    else if (counted.size < mostLinks) counted.set(linkId, { projectId, linkId, count });
    else measured.lost += count;
    flusher.schedule();
  }

  function isWaiting(projectId: string, linkId: string | undefined): boolean {
    if (linkId !== undefined && counted.has(linkId)) return true;
    const leaving = batches.list();
    if (counted.size + leaving.length === 0) return false;
    const candidates = linkId === undefined ? [...counted.values(), ...leaving] : leaving;
    return candidates.some(
      (one) => one.projectId === projectId && (linkId ?? one.linkId) === one.linkId,
    );
  }

  async function flushForReader(): Promise<void> {
    readers += 1;
    await flusher.flush();
    readers -= 1;
  }

  return {
    note: (projectId, linkId) => {
      measured.counted += 1;
      add({ projectId, linkId, count: 1 });
      if (counted.size >= earlyFlushLinks && !isFailing) void flusher.flush();
    },
    flush: (projectId, linkId) => (isWaiting(projectId, linkId) ? flushForReader() : undefined),
    measure: () => {
      const { counted: noted, written, lost } = measured;
      return { ...measured, waiting: noted - written - lost };
    },
    close: flusher.close,
  };
}

function createFlusher(write: () => Promise<void>, setAlarm: SetAlarm) {
  let last: Promise<void> = Promise.resolve();
  let queued: Promise<void> | undefined;
  let cancel: (() => void) | undefined;

  /** Writes what is there when the write that is running now has ended. */
  function flush(): Promise<void> {
    queued ??= last.then(() => {
      queued = undefined;
      return write();
    });
    last = queued;
    return queued;
  }

  return {
    /** Writes within the next second. */
    schedule: () => {
      cancel ??= setAlarm(flushInterval_ms, () => {
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
