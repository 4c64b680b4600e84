import { readKind, tellKind, withOtherReferrer, type Told } from "../stats/visit.ts";
import type { VisitCount } from "../store/visit-batches.ts";

/** Visits in memory, link by link, until they are written down. */
export type VisitCounts = {
  /** Answers whether they are of so many links that they should be taken out soon. */
  readonly note: (linkId: string, told: Told) => boolean;
  /** For what could not be written. */
  readonly putBack: (count: Counted) => void;
  /** By link, all that are there. */
  readonly list: () => ReadonlyMap<string, Counted>;
  /** Takes all of them out. */
  readonly take: () => readonly Counted[];
};

/** The visits of a link, to which more are added. */
export type Counted = Pick<VisitCount, "projectId" | "linkId"> & {
  clicks: number;
  readonly kinds: Map<string, number>;
};

type CountsOptions = {
  readonly mostLinks: number;
  /** Called with clicks that find no room. */
  readonly onLost: (clicks: number) => void;
};

/** From so many links on, visits are written without waiting for the second to end. */
const manyLinks = 10_000;
/** A stranger can make up any number of hosts that have led here. */
const mostKindsOfLink = 200;

export function createVisitCounts({ mostLinks, onLost }: CountsOptions): VisitCounts {
  const links = new Map<string, Counted>();

  function add(linkId: string, { projectId, kind, isClick }: Told, visits: number): void {
    const clicks = isClick ? visits : 0;
    const known = links.get(linkId);
    if (known === undefined && links.size >= mostLinks) return onLost(clicks);
    const count = known ?? { projectId, linkId, clicks: 0, kinds: new Map<string, number>() };
    links.set(linkId, count);
    count.clicks += clicks;
    addKind(count.kinds, kind, visits);
  }

  return {
    note: (linkId, told) => {
      const before = links.size;
      add(linkId, told, 1);
      return before < manyLinks && links.size >= manyLinks;
    },
    putBack: ({ projectId, linkId, kinds }) => {
      for (const [kind, visits] of kinds) add(linkId, tellKind(projectId, kind), visits);
    },
    list: () => links,
    take: () => {
      const taken = [...links.values()];
      links.clear();
      return taken;
    },
  };
}

function addKind(kinds: Map<string, number>, kind: string, visits: number): void {
  const isOne = kinds.has(kind) || kinds.size < mostKindsOfLink;
  // Whom nobody led there came from no other host either.
  const told = isOne || readKind(kind).referrer === undefined ? kind : withOtherReferrer(kind);
  kinds.set(told, (kinds.get(told) ?? 0) + visits);
}
