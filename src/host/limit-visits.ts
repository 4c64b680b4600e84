import type { Clock } from "../contract/clock.ts";

/** So many visits of one place are noted in a minute, and so many of shared or unknown places. */
const mostOfPlace = 120;
const mostOfNobody = 6000;
const window_ms = 60_000;
/** Of more places than that all are forgotten, so that nobody can fill the memory. */
const mostPlaces = 20_000;

/** Keeps a stranger from filling the store with visits of phones that are none. */
export function createVisitLimit({ monotonic }: Pick<Clock, "monotonic">) {
  const counts = new Map<string, number>();
  let endsAt = -Infinity;

  return {
    /** The empty text represents all places that are shared or unknown. */
    takes: (place: string): boolean => {
      const now = monotonic();
      if (now >= endsAt || counts.size >= mostPlaces) {
        counts.clear();
        endsAt = now + window_ms;
      }
      const count = (counts.get(place) ?? 0) + 1;
      counts.set(place, count);
      return count <= (place === "" ? mostOfNobody : mostOfPlace);
    },
  };
}
