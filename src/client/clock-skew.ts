import type { Clock } from "../contract/clock.ts";

/** Whether the deployment's clock differs from ours, as far as its replies show. */
export type ClockSkew = {
  /** Takes the `Date` of a reply that just came. */
  readonly note: (date: string | undefined) => void;
  /** False where the time in a row over there cannot be compared with when a call began here. */
  readonly isNone: () => boolean;
};

/** The header counts whole seconds, and the reply was on its way. */
const tolerated_ms = 2000;

export function createClockSkew({ now }: Pick<Clock, "now">): ClockSkew {
  let skew_ms = 0;
  return {
    note: (date) => {
      const sent = Date.parse(date ?? "");
      // A service in this process sends no `Date`, and without one there is nothing to compare.
      if (!Number.isNaN(sent)) skew_ms = sent - now();
    },
    isNone: () => Math.abs(skew_ms) <= tolerated_ms,
  };
}
