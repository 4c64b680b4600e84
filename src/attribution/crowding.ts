import type { Seen } from "./compare-phones.ts";

/**
 * How many other phones visit from behind one address while one waits for its app. The visits that
 * wait now are too few to tell: whoever took what they happen to show for the truth would be surest
 * when chance has shown the least. So it is learned from one window after the other.
 */
export type Crowd = {
  readonly visits: number;
  /** The others behind the address of each of them, added up. */
  readonly others: number;
};

/** Of each project two numbers, in memory: nothing of a visit is kept with them. */
export type Crowding = {
  /** Takes in what is seen now, if it has not just done so; answers all that is known by then. */
  readonly learn: (projectId: string, seen: Crowd) => Crowd;
};

type Learned = Crowd & { readonly at: number };

/** What was seen before counts a little less than what is seen now. */
const kept = 0.99;
/** Of more projects than that the first are learned anew. */
const mostProjects = 10_000;

/** Within `window_ms` the same visits would be seen again. */
export function createCrowding(monotonic: () => number, window_ms: number): Crowding {
  const projects = new Map<string, Learned>();
  return {
    learn: (projectId, seen) => {
      const at = monotonic();
      const known = projects.get(projectId);
      if (known !== undefined && at - known.at < window_ms) return known;
      const { visits, others } = known ?? { visits: 0, others: 0 };
      const learned = {
        visits: visits * kept + seen.visits,
        others: others * kept + seen.others,
        at,
      };
      projects.delete(projectId);
      projects.set(projectId, learned);
      const [first] = projects.keys();
      if (projects.size > mostProjects && first !== undefined) projects.delete(first);
      return learned;
    },
  };
}

/** `part` is how much of the window they are of: of very many only the latest are looked at. */
export function measureCrowd(recent: readonly Seen[], part = 1): Crowd {
  const counts = new Map<string, number>();
  for (const { address } of recent) {
    if (address !== undefined) counts.set(address.group, (counts.get(address.group) ?? 0) + 1);
  }
  const sizes = [...counts.values()];
  const visits = sizes.reduce((sum, size) => sum + size, 0);
  const others = sizes.reduce((sum, size) => sum + size * (size - 1), 0);
  return { visits, others: others / part };
}
