import type { Clock } from "../contract/clock.ts";

/** Whether the deployment's clock differs from ours, as far as its replies show. */
export type ClockSkew = {
  /** Takes the `Date` of a reply that just came. */
  readonly note: (date: string | undefined) => void;
  /** False where the two clocks differ, or the server has not shown the time of its own. */
  readonly isNone: () => boolean;
};

/** The header counts whole seconds, and the reply was on its way. */
const tolerated_ms = 2000;

/** Our own service runs in this process, by the same clock, and sends no `Date`. */
export function createClockSkew({ now }: Pick<Clock, "now">, isOwn: boolean): ClockSkew {
  let skew_ms = isOwn ? 0 : undefined;
  return {
    note: (date) => {
      const sent = Date.parse(date ?? "");
      if (!Number.isNaN(sent)) skew_ms = sent - now();
    },
    isNone: () => skew_ms !== undefined && Math.abs(skew_ms) <= tolerated_ms,
  };
}
