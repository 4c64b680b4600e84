import type { Awaitable } from "../contract/awaitable.ts";
import type { Clock, SetAlarm } from "../contract/clock.ts";
import { tellVisit, type Told, type Visit } from "../stats/visit.ts";
import { foldForReader } from "../store/fold-for-reader.ts";
import type { Store } from "../store/store.ts";
import { owesClicks } from "../store/visit-batches.ts";
import { createClickBatches } from "./click-batches.ts";
import { createRecentCache } from "./recent-cache.ts";
import { createVisitCounts, type Counted } from "./visit-counts.ts";

/**
 * Visits, counted in memory and written to the store together: a durable write for each would cost
 * more than all the rest of a visit. A process that is killed loses those of its last second.
 */
export type Clicks = {
  readonly note: (linkId: string, told: Told) => void;
  /** The same of what apps tell: that they were opened or installed. */
  readonly noteVisit: (visit: Visit) => void;
  /**
   * Resolves when the counts of a link, or of every link of the project, are in the store; where
   * the store refuses them, they stay here and the reader sees less.
   */
  readonly flush: (projectId: string, linkId?: string) => Awaitable<void>;
  /** Resolves when the project's visits are in the store, if not yet added to its links. */
  readonly write: (projectId: string) => Promise<void>;
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
  readonly store: Pick<Store, "db" | "write">;
  readonly clock: Clock;
  readonly setAlarm: SetAlarm;
  /** Notes a failed write where the operator looks. */
  readonly report: (error: unknown) => unknown;
};

const flushInterval_ms = 1000;
/** A store that takes nothing must not fill the memory: from here on, visits are lost. */
const mostLinks = 100_000;
/** What other processes owe is looked for as often; their visits wait as long anyhow. */
const looked_ms = 1000;
/** Projects of which is remembered when it was looked for. */
const mostLooked = 1000;

export function createClicks({ store, clock, setAlarm, report }: ClicksOptions): Clicks {
  let isFailing = false;
  const measured = { counted: 0, written: 0, lost: 0 };
  const onLost = (clicks: number) => void (measured.lost += clicks);
  const counts = createVisitCounts({ mostLinks, onLost });
  /** Who reads a count waits for its write, which is then in a hurry; else it lets others go. */
  let readers = 0;
  const debts = createDebts(store, clock);
  const batches = createClickBatches({
    store,
    now: clock.now,
    onOwed: debts.note,
    onEnd: (end, ended) => {
      if (end !== "unwritten") measured[end] += ended.reduce((sum, { clicks }) => sum + clicks, 0);
      else for (const one of ended) counts.putBack(one);
    },
  });

  async function writeCounts(): Promise<void> {
    try {
      await batches.settle();
      await batches.write(counts.take(), () => readers === 0);
      isFailing = false;
    } catch (error) {
      // One report is enough.
      if (!isFailing) report(error);
      isFailing = true;
      flusher.schedule();
    }
  }

  const flusher = createFlusher(writeCounts, setAlarm);

  function note(linkId: string, told: Told): void {
    if (told.isClick) measured.counted += 1;
    flusher.schedule();
    if (counts.note(linkId, told) && !isFailing) void flusher.flush();
  }

  const isWaiting = (projectId: string, linkId: string | undefined) =>
    isAmong(counts.list(), batches.list(), projectId, linkId);

  async function writeForReader(projectId: string, linkId: string | undefined): Promise<void> {
    readers += 1;
    if (isWaiting(projectId, linkId)) await flusher.flush();
    readers -= 1;
  }

  async function flushForReader(projectId: string, linkId: string | undefined): Promise<void> {
    await writeForReader(projectId, linkId);
    if (debts.mayBe(projectId, linkId)) await debts.pay(projectId);
  }

  return {
    note,
    noteVisit: ({ linkId, ...visit }) => note(linkId, tellVisit(visit)),
    flush: (projectId, linkId) =>
      isWaiting(projectId, linkId) || debts.mayBe(projectId, linkId)
        ? flushForReader(projectId, linkId)
        : undefined,
    write: (projectId) => writeForReader(projectId, undefined),
    measure: () => {
      const { counted, written, lost } = measured;
      return { ...measured, waiting: counted - written - lost };
    },
    close: flusher.close,
  };
}

/** Whether a link's visits, or any of the project's, are not in the store. */
function isAmong(
  links: ReadonlyMap<string, Counted>,
  leaving: readonly Counted[],
  projectId: string,
  linkId: string | undefined,
): boolean {
  if (linkId !== undefined && links.has(linkId)) return true;
  if (links.size + leaving.length === 0) return false;
  const candidates = linkId === undefined ? [...links.values(), ...leaving] : leaving;
  return candidates.some(
    (one) => one.projectId === projectId && (linkId ?? one.linkId) === one.linkId,
  );
}

/** Clicks that are written down, and not yet added to their links: of this process and others. */
function createDebts(store: ClicksOptions["store"], clock: ClicksOptions["clock"]) {
  const owing = new Set<string>();
  const looked = createRecentCache<number>(mostLooked);
  return {
    note: (projects: ReadonlySet<string>) => {
      for (const projectId of projects) owing.add(projectId);
    },
    /** Whether it has to be looked for. */
    mayBe: (projectId: string, linkId: string | undefined): boolean => {
      if (linkId === undefined || owing.has(projectId)) return true;
      return clock.monotonic() - (looked.find(projectId) ?? -Infinity) >= looked_ms;
    },
    pay: async (projectId: string): Promise<void> => {
      looked.set(projectId, clock.monotonic());
      // What comes while it is paid is owed again.
      owing.delete(projectId);
      if (!(await owesClicks({ db: store.db, projectId }))) return;
      await foldForReader(store, projectId);
    },
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
