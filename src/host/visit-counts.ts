import { readKind, tellKind, withOtherReferrer, type Told } from "../stats/visit.ts";
import { eachKind, type VisitCount } from "../store/visit-batches.ts";

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
export type Counted = Pick<VisitCount, "projectId" | "linkId" | "kind"> & {
  clicks: number;
  ofKind: number;
  others: Map<string, number> | undefined;
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
    if (known !== undefined) {
      known.clicks += clicks;
      if (known.kind === kind) known.ofKind += visits;
      else addOther(known, kind, visits);
    } else if (links.size < mostLinks) {
      const others = undefined;
      links.set(linkId, { projectId, linkId, clicks, kind, ofKind: visits, others });
    } else onLost(clicks);
  }

  return {
    note: (linkId, told) => {
      const before = links.size;
      add(linkId, told, 1);
      return before < manyLinks && links.size >= manyLinks;
    },
    putBack: (count) => {
      const { projectId, linkId } = count;
      eachKind(count, (kind, visits) => add(linkId, tellKind(projectId, kind), visits));
    },
    list: () => links,
    take: () => {
      const taken = [...links.values()];
      links.clear();
      return taken;
    },
  };
}

function addOther(count: Counted, kind: string, visits: number): void {
  const others = (count.others ??= new Map<string, number>());
  const isOne = others.has(kind) || others.size < mostKindsOfLink;
  // Whom nobody led there came from no other host either.
  const told = isOne || readKind(kind).referrer === undefined ? kind : withOtherReferrer(kind);
  others.set(told, (others.get(told) ?? 0) + visits);
}
