/**
 * The clock and the random number generator, passed as parameters so that tests can control them.
 */

export type Clock = {
  /** The current time in milliseconds since 1970, as stored in database rows. */
  readonly now: () => number;
  /** A clock in milliseconds that never jumps, for measuring time windows and deadlines. */
  readonly monotonic: () => number;
};

/**
 * Calls `ring` once after the given time, unless the returned function cancels it. A pending alarm
 * does not keep the process alive.
 */
export type SetAlarm = (milliseconds: number, ring: () => void) => () => void;

/** A caller that waits for a response. Once the caller has left, no more work may start for it. */
export type Waiter = {
  /**
   * A method instead of a getter, because V8 keeps a separate hidden class for each object with a
   * getter.
   */
  readonly hasLeft: () => boolean;
  /**
   * The time left until the deadline. At zero, running work may finish but no new work may start.
   */
  readonly left_ms?: () => number;
  /**
   * Registers a callback that stops the current work if the caller leaves. Only the last registered
   * callback is called.
   */
  readonly onAbort: (end: () => void) => void;
  /**
   * Called before a write starts. If the request then times out, the outcome of the write is
   * unknown.
   */
  readonly noteWriting?: () => void;
};

export type Random = {
  readonly bytes: (count: number) => Uint8Array;
};

export type ClockAndRandom = { readonly clock: Clock; readonly random: Random };

/**
 * The maximum clock difference between machines that share a database. A row dated further in the
 * future was written before a clock was set back.
 */
export const mostSkew_ms = 5_000;
