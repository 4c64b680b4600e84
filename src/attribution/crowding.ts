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

/** What was known after a window, and when that was. */
export type Learned = Crowd & { readonly at: number };

/** What was seen before counts a little less than what is seen now. */
const kept = 0.99;

/**
 * All that is known with what is seen now. Within `window_ms` the same visits are seen again, and
 * where nobody has ever visited nothing is learned.
 */
export function learnCrowd(
  known: Learned | undefined,
  seen: Crowd,
  { now, window_ms }: { readonly now: number; readonly window_ms: number },
): Learned {
  // A clock that was put back by hours must not end all learning for so long.
  const { visits, others, at } = known ?? { visits: 0, others: 0, at: now };
  const isNothing = visits === 0 && seen.visits === 0;
  if (known !== undefined && (isNothing || Math.abs(now - at) < window_ms)) return known;
  return { visits: visits * kept + seen.visits, others: others * kept + seen.others, at: now };
}

/** `part` is how much of the window they are of: of very many only the latest are looked at. */
export function measureCrowd(recent: readonly Seen[], part = 1): Crowd {
  const counts = new Map<string, number>();
  for (const { address } of recent) {
    // How many share a carrier's address says nothing about homes and offices.
    if (address === undefined || address.isShared) continue;
    counts.set(address.group, (counts.get(address.group) ?? 0) + 1);
  }
  const sizes = [...counts.values()];
  const visits = sizes.reduce((sum, size) => sum + size, 0);
  const others = sizes.reduce((sum, size) => sum + size * (size - 1), 0);
  return { visits, others: others / part };
}
