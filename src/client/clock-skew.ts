import type { Clock } from "../contract/clock.ts";

/** Whether the deployment's clock can be told from ours, as far as its replies show. */
export type ClockSkew = {
  /** Takes the `Date` of a reply that just came. */
  readonly note: (date: string | undefined) => void;
  /** False where a row's time over there says nothing about when a call began here. */
  readonly isNone: () => boolean;
};

/** The header counts whole seconds, and the reply was on its way. */
const tolerated_ms = 2000;

export function createClockSkew({ now }: Pick<Clock, "now">): ClockSkew {
  let skew_ms = 0;
  return {
    note: (date) => {
      const theirs = Date.parse(date ?? "");
      // Whoever tells no time is in this process, or leaves us nothing to compare.
      if (!Number.isNaN(theirs)) skew_ms = theirs - now();
    },
    isNone: () => Math.abs(skew_ms) <= tolerated_ms,
  };
}
