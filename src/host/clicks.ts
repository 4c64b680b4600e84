import type { Awaitable } from "../contract/waiting.ts";
import type { Clock, SetAlarm } from "../contract/clock.ts";
import {
  compareLinks,
  describeVisit,
  withOtherReferrer,
  type LinkVisits,
  type CountedVisit,
  type VisitKind,
} from "../stats/visit.ts";
import { countVisits } from "../store/visit-counts.ts";
import { createFlusher } from "../store/background-tasks.ts";
import { OutcomeUnknown, type Store } from "../store/store.ts";

/**
 * Counts visits in memory and writes them to the database in batches, because a write per visit
 * would take longer than the response. If the process dies, about one second of visits is lost.
 */
export type Clicks = {
  readonly note: (linkId: string, kind: VisitKind) => void;
  /** Counts an app's report that a link opened or installed it. */
  readonly noteReported: (visit: CountedVisit) => void;
  /**
   * Writes the pending visits of a link, or of all links of a project. Also resolves if the write
   * fails. The caller then reads counts that are too low.
   */
  readonly flush: (projectId: string, linkId?: string) => Awaitable<void>;
  readonly measure: () => ClickMeasures;
  readonly close: () => Promise<void>;
};

/** Clicks since the process started. `lost` includes clicks whose write has an unknown result. */
type ClickMeasures = Readonly<Record<"counted" | "written" | "waiting" | "lost", number>>;

type ClicksOptions = {
  readonly store: Pick<Store, "write">;
  readonly clock: Pick<Clock, "now">;
  readonly setAlarm: SetAlarm;
  readonly report: (error: unknown) => unknown;
};

const flushInterval_ms = 1000;
/**
 * The maximum number of links with unwritten visits. Visits to more links are lost, so that memory
 * does not fill up while writes fail.
 */
const mostLinks = 100_000;
/**
 * Beyond this number, referring hosts are counted as `other`, because visitors can invent hosts.
 */
const mostKindsOfLink = 200;
/** Links per transaction. Larger transactions would delay other writes. */
const linksAtOnce = 1000;

export function createClicks({ store, clock, setAlarm, report }: ClicksOptions): Clicks {
  const measured = { counted: 0, written: 0, lost: 0 };
  const memory = createMemory((clicks) => (measured.lost += clicks));
  let isFailing = false;
  /** How many reads wait until the clicks are written. If none, other writes go first. */
  let waitingReads = 0;

  async function write(): Promise<void> {
    memory.collect();
    try {
      for (let some = memory.next(); some.length > 0; some = memory.next()) await writeSome(some);
      isFailing = false;
    } catch (error) {
      // Report only the first of several failures in a row.
      if (!isFailing) report(error);
      isFailing = true;
      memory.putBack();
      void flusher.schedule();
    }
  }

  async function writeSome(links: readonly WaitingLink[]): Promise<void> {
    const visits = links.map((link) => ({ ...link, kinds: [...link.kinds.values()] }));
    const clicks = links.reduce((sum, link) => sum + link.clicks, 0);
    const options = { isPatient: waitingReads === 0 };
    try {
      await store.write((db) => countVisits(db, visits, clock.now()), options);
      measured.written += clicks;
    } catch (error) {
      if (!(error instanceof OutcomeUnknown)) throw error;
      // The visits may already be in the database. If they were written again, they could count
      // twice.
      measured.lost += clicks;
      report(error);
    }
    memory.drop(links.length);
  }

  const flusher = createFlusher(write, setAlarm, flushInterval_ms);

  async function flushForReader(): Promise<void> {
    waitingReads += 1;
    await flusher.flush();
    waitingReads -= 1;
  }

  function note(linkId: string, kind: VisitKind): void {
    if (kind.isClick) measured.counted += 1;
    memory.add(linkId, kind, 1);
    void flusher.schedule();
  }

  return {
    note,
    noteReported: ({ linkId, ...visit }) => note(linkId, describeVisit(visit)),
    flush: (...which) => (memory.has(...which) ? flushForReader() : undefined),
    measure: () => {
      const { counted, written, lost } = measured;
      return { ...measured, waiting: counted - written - lost };
    },
    close: flusher.close,
  };
}

type WaitingLink = Pick<LinkVisits, "projectId" | "linkId"> & {
  clicks: number;
  readonly kinds: Map<string, { readonly kind: VisitKind; count: number }>;
};

/** Visits that are not in the database yet. The visits of the current write are in `collected`. */
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
      // Sort before `next` splits the links into batches, so that a batch changes fewer database
      // pages. `countVisits` also needs this order.
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
  const hasRoom = kinds.size < mostKindsOfLink || kinds.has(kind.key);
  const counted = hasRoom || kind.referrer === undefined ? kind : withOtherReferrer(kind);
  const known = kinds.get(counted.key);
  if (known === undefined) kinds.set(counted.key, { kind: counted, count });
  else known.count += count;
}
