import { readKind, withOtherReferrer } from "../stats/visit.ts";
import type { VisitCount } from "../store/visit-batches.ts";

/** Visits in memory, link by link, until they are written down. */
export type VisitCounts = {
  /** Answers how many clicks found no room. */
  readonly add: (added: Added) => number;
  /** The same for what could not be written. */
  readonly putBack: (count: Counted) => number;
  /** By link, all that are there. */
  readonly links: ReadonlyMap<string, Counted>;
  /** Takes all of them out. */
  readonly take: () => readonly Counted[];
};

type Added = {
  readonly projectId: string;
  readonly linkId: string;
  readonly kind: string;
  readonly visits: number;
  /** So many of the visits add to the link's clicks: all of them or none. */
  readonly clicks: number;
};

/** The visits of a link: most of them are of one kind, and have no map for that. */
export type Counted = Pick<Added, "projectId" | "linkId" | "kind"> & {
  clicks: number;
  ofKind: number;
  others: Map<string, number> | undefined;
};

/** A stranger can make up any number of hosts that have led here. */
const mostKindsOfLink = 200;

export function createVisitCounts(mostLinks: number): VisitCounts {
  const links = new Map<string, Counted>();

  function add({ projectId, linkId, kind, visits, clicks }: Added): number {
    const known = links.get(linkId);
    if (known === undefined && links.size >= mostLinks) return clicks;
    if (known === undefined) {
      const others = undefined;
      links.set(linkId, { projectId, linkId, clicks, kind, ofKind: visits, others });
      return 0;
    }
    known.clicks += clicks;
    if (known.kind === kind) known.ofKind += visits;
    else addOther(known, kind, visits);
    return 0;
  }

  return {
    links,
    add,
    putBack: (count) => {
      const { projectId, linkId, kinds } = listKinds(count);
      let lost = 0;
      for (const [kind, visits] of kinds) {
        const clicks = readKind(kind).isClick ? visits : 0;
        lost += add({ projectId, linkId, kind, visits, clicks });
      }
      return lost;
    },
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

export function listKinds({ projectId, linkId, clicks, kind, ofKind, others }: Counted) {
  const kinds: readonly (readonly [string, number])[] = [[kind, ofKind], ...(others ?? [])];
  return { projectId, linkId, clicks, kinds } satisfies VisitCount;
}
