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
 * Visits, counted in memory and written to the store together: a durable write for each would cost
 * more than all the rest of a visit. A process that is killed loses those of its last second.
 */
export type Clicks = {
  readonly note: (linkId: string, kind: VisitKind) => void;
  /** The same for what apps report: that they were opened or installed. */
  readonly noteVisit: (visit: CountedVisit) => void;
  /**
   * Resolves when the visits of a link, or of every link of the project, are in the store. Where
   * the store refuses them, they stay here and the reader sees less.
   */
  readonly flush: (projectId: string, linkId?: string) => Awaitable<void>;
  readonly measure: () => ClickMeasures;
  /** Writes the visits that are left. */
  readonly close: () => Promise<void>;
};

/** Clicks since the start. Lost ones may have been written, where a commit was not answered. */
type ClickMeasures = Readonly<Record<"counted" | "written" | "waiting" | "lost", number>>;

type ClicksOptions = {
  readonly store: Pick<Store, "write">;
  readonly clock: Pick<Clock, "now">;
  readonly setAlarm: SetAlarm;
  /** Reports a failed write to the operator. */
  readonly report: (error: unknown) => unknown;
};

const flushInterval_ms = 1000;
/** While the store refuses writes, visits of more links are lost: they would fill the memory. */
const mostLinks = 100_000;
/** Strangers can make up any number of referring hosts. */
const mostKindsOfLink = 200;
/** Links that are written in one transaction, which other writers wait for. */
const linksAtOnce = 1000;

export function createClicks({ store, clock, setAlarm, report }: ClicksOptions): Clicks {
  const measured = { counted: 0, written: 0, lost: 0 };
  const memory = createMemory((clicks) => (measured.lost += clicks));
  let isFailing = false;
  /** A write that a reader waits for is urgent; other writers go before any other. */
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
      // Counting visits twice would be worse than losing them.
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

/** The visits of a link, by the keys of their kinds. */
type WaitingLink = Pick<LinkVisits, "projectId" | "linkId"> & {
  clicks: number;
  readonly kinds: Map<string, { readonly kind: VisitKind; count: number }>;
};

/** Visits that are not in the store; some of them are collected for the write that is running. */
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
      // Those of one batch lie beside each other in the tables: fewer pages are written.
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
