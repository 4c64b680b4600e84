import type { Clock } from "../contract/clock.ts";

/**
 * How long things last, by both clocks: the time of day can be set back, and the one that cannot
 * be stands still while the machine sleeps, and is known to this process alone.
 */
export type Lifetimes = {
  /** What is written down of something that begins now. */
  readonly begin: (id: string) => Span;
  readonly isOn: (written: Span & { readonly id: string }) => boolean;
  /** Some of what began here and is over, named once: who is told of it forgets it as well. */
  readonly takeEnded: () => readonly string[];
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
    isOn: ({ id, created_at, expires_at }) => {
      const time = now();
      // Whatever was made in the future was made before the clock was set back.
      const isInTime = created_at <= time && time < expires_at;
      return isInTime && monotonic() < (ends.get(id) ?? Infinity);
    },
    takeEnded: () => {
      const time = monotonic();
      const ended = [...ends].flatMap(([id, end]) => (end <= time ? [id] : [])).slice(0, mostEnded);
      for (const id of ended) ends.delete(id);
      return ended;
    },
  };
}
