import type { Awaitable } from "../contract/awaitable.ts";
import type { Clock, SetAlarm } from "../contract/clock.ts";
import {
  compareLinks,
  describeVisit,
  withOtherReferrer,
  type LinkVisits,
  type CountedVisit,
  type VisitKind,
} from "../stats/visit.ts";
import { countVisits } from "../store/count-visits.ts";
import { createFlusher } from "../store/flusher.ts";
import { OutcomeUnknown, type Store } from "../store/store.ts";

/**
 * Counts visits in memory and writes them to the database together, because a durable write per
 * visit would cost more than the rest of it. A killed process loses the last second.
 */
export type Clicks = {
  readonly note: (linkId: string, kind: VisitKind) => void;
  /** The same for the opens and installs that apps report. */
  readonly noteVisit: (visit: CountedVisit) => void;
  /**
   * Resolves when the visits of a link, or of all links of a project, are in the database. If a
   * write fails, the visits stay in memory, and the reader sees lower numbers.
   */
  readonly flush: (projectId: string, linkId?: string) => Awaitable<void>;
  readonly measure: () => ClickMeasures;
  /** Writes what is left in memory. */
  readonly close: () => Promise<void>;
};

/**
 * Clicks since the start. Lost ones may have been written, if the result of a commit is unknown.
 */
type ClickMeasures = Readonly<Record<"counted" | "written" | "waiting" | "lost", number>>;

type ClicksOptions = {
  readonly store: Pick<Store, "write">;
  readonly clock: Pick<Clock, "now">;
  readonly setAlarm: SetAlarm;
  /** Reports a failed write to the operator. */
  readonly report: (error: unknown) => unknown;
};

const flushInterval_ms = 1000;
/** While writes fail, visits of more links than this are lost, so that memory does not fill up. */
const mostLinks = 100_000;
/** Strangers can invent any number of referring hosts. */
const mostKindsOfLink = 200;
/** Links per transaction, because other writers wait for it. */
const linksAtOnce = 1000;

export function createClicks({ store, clock, setAlarm, report }: ClicksOptions): Clicks {
  const measured = { counted: 0, written: 0, lost: 0 };
  const memory = createMemory((clicks) => (measured.lost += clicks));
  let isFailing = false;
  /** A write that a reader waits for is urgent; others let other writers go first. */
  let readers = 0;

  async function write(): Promise<void> {
    memory.collect();
    try {
      for (let some = memory.next(); some.length > 0; some = memory.next()) await writeSome(some);
      isFailing = false;
    } catch (error) {
      // One report is enough.
      if (!isFailing) report(error);
      isFailing = true;
      memory.putBack();
      void flusher.schedule();
    }
  }

  async function writeSome(links: readonly WaitingLink[]): Promise<void> {
    const visits = links.map((link) => ({ ...link, kinds: [...link.kinds.values()] }));
    const clicks = links.reduce((sum, link) => sum + link.clicks, 0);
    const options = { isPatient: readers === 0 };
    try {
      await store.write((db) => countVisits(db, visits, clock.now()), options);
      measured.written += clicks;
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      // Losing visits is better than counting them twice.
      measured.lost += clicks;
      report(error);
    }
    memory.drop(links.length);
  }

  const flusher = createFlusher(write, setAlarm, flushInterval_ms);

  async function flushForReader(): Promise<void> {
    readers += 1;
    await flusher.flush();
    readers -= 1;
  }

  function note(linkId: string, kind: VisitKind): void {
    if (kind.isClick) measured.counted += 1;
    memory.add(linkId, kind, 1);
    void flusher.schedule();
  }

  return {
    note,
    noteVisit: ({ linkId, ...visit }) => note(linkId, describeVisit(visit)),
    flush: (...which) => (memory.has(...which) ? flushForReader() : undefined),
    measure: () => {
      const { counted, written, lost } = measured;
      return { ...measured, waiting: counted - written - lost };
    },
    close: flusher.close,
  };
}

/** The visits of a link, by the key of their kind. */
type WaitingLink = Pick<LinkVisits, "projectId" | "linkId"> & {
  clicks: number;
  readonly kinds: Map<string, { readonly kind: VisitKind; count: number }>;
};

/** Visits that are not in the database. Some of them are collected for the running write. */
function createMemory(onLost: (clicks: number) => unknown) {
  let waiting = new Map<string, WaitingLink>();
  let collected: readonly WaitingLink[] = [];

  function add(linkId: string, kind: VisitKind, count: number): void {
    const { projectId } = kind;
    const clicks = kind.isClick ? count : 0;
    const known = waiting.get(linkId);
    if (known === undefined && waiting.size >= mostLinks) return void onLost(clicks);
    const link = known ?? { projectId, linkId, clicks: 0, kinds: new Map() };
    if (known === undefined) waiting.set(linkId, link);
    link.clicks += clicks;
    addKind(link, kind, count);
  }

  return {
    add,
    collect: () => {
      // Sorted for `countVisits`, and before `next` splits off batches, so that each batch writes
      // fewer pages.
      collected = [...waiting.values()].toSorted(compareLinks);
      waiting = new Map();
    },
    next: () => collected.slice(0, linksAtOnce),
    drop: (links: number) => {
      collected = collected.slice(links);
    },
    putBack: () => {
      for (const { linkId, kinds } of collected) {
        for (const { kind, count } of kinds.values()) add(linkId, kind, count);
      }
      collected = [];
    },
    has: (projectId: string, linkId?: string): boolean => {
      if (linkId !== undefined && waiting.has(linkId)) return true;
      const links = linkId === undefined ? [...waiting.values(), ...collected] : collected;
      return links.some(
        (one) => one.projectId === projectId && (linkId ?? one.linkId) === one.linkId,
      );
    },
  };
}

function addKind({ kinds }: WaitingLink, kind: VisitKind, count: number): void {
  const isKept = kinds.size < mostKindsOfLink || kinds.has(kind.key);
  const kept = isKept || kind.referrer === undefined ? kind : withOtherReferrer(kind);
  const known = kinds.get(kept.key);
  if (known === undefined) kinds.set(kept.key, { kind: kept, count });
  else known.count += count;
}
