import type { DeliveryTable } from "./tables.ts";

/** For how long an event is tried. */

/** From its creation on, or from when somebody has it sent again. */
export const givenUpAfter_ms = 24 * 60 * 60 * 1000;
/**
 * From its own first attempt on, however long it has waited for what came before it: long enough
 * for a receiver to be started anew, and no second day, or a row of those that nobody takes would
 * hold up each other for as many days.
 */
const leastOfItsOwn_ms = 5 * 60 * 1000;

/**
 * A receiver that nobody has asked for so long was not away meanwhile, as far as is known: longer
 * than any event waits for its next attempt.
 */
export const askedWithin_ms = 3 * 60 * 60 * 1000;

/** When an event is given up that was not taken now. */
export function findEnd(
  { attempts, created_at, ends_at }: Pick<DeliveryTable, "attempts" | "created_at" | "ends_at">,
  now: number,
): number {
  // A version before wrote there the end of what it waited for.
  const ends = Math.max(created_at + givenUpAfter_ms, ends_at ?? 0);
  return attempts === 0 ? Math.max(ends, now + leastOfItsOwn_ms) : ends;
}
