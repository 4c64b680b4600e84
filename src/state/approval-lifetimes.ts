import type { Clock } from "../contract/clock.ts";
import { mostSkew_ms } from "../contract/clock-skew.ts";

/**
 * How long approvals last, by both clocks: the time of day can be set back, and the monotonic one
 * stands still while the machine sleeps, and is known to this process alone.
 */
export type Lifetimes = {
  /** The times to write into the row of an approval that begins now. */
  readonly begin: (id: string) => Span;
  readonly isCurrent: (written: Span & { readonly id: string }) => boolean;
  /** Ids of this process's expired approvals: the caller deletes their rows. */
  readonly listEnded: () => readonly string[];
  /** Their rows are gone for certain; one that is still there would be current again. */
  readonly forget: (ended: readonly string[]) => void;
};

/** As many as one statement can name. */
const mostEnded = 1000;

type Span = { readonly created_at: number; readonly expires_at: number };

export function createLifetimes({ now, monotonic }: Clock, lasts_ms: number): Lifetimes {
  const ends = new Map<string, number>();
  return {
    begin: (id) => {
      ends.set(id, monotonic() + lasts_ms);
      const created_at = now();
      return { created_at, expires_at: created_at + lasts_ms };
    },
    isCurrent: ({ id, created_at, expires_at }) => {
      const time = now();
      // What was made in the future was made before the clock was set back.
      const isInTime = created_at <= time + mostSkew_ms && time < expires_at;
      return isInTime && monotonic() < (ends.get(id) ?? Infinity);
    },
    listEnded: () => {
      const time = monotonic();
      return [...ends].flatMap(([id, end]) => (end <= time ? [id] : [])).slice(0, mostEnded);
    },
    forget: (ended) => {
      for (const id of ended) ends.delete(id);
    },
  };
}
