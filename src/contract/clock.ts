/** The clock and the random bytes. They are parameters so that tests can fix them. */

export type Clock = {
  /** The time of day, in milliseconds since 1970, as written into rows. */
  readonly now: () => number;
  /** Milliseconds that never jump, for measuring windows and deadlines. */
  readonly monotonic: () => number;
};

/**
 * Calls `ring` once after the given time, unless the returned function is called first. A pending
 * alarm does not keep the process alive.
 */
export type SetAlarm = (milliseconds: number, ring: () => void) => () => void;

/** A caller that waits for an answer. Once it has left, no more work may start for it. */
export type Waiter = {
  /**
   * A method instead of a getter, because V8 would keep a separate shape for each object with a
   * getter.
   */
  readonly hasLeft: () => boolean;
  /**
   * The remaining time. At zero or less, work that has started may finish but nothing may start.
   */
  readonly left_ms?: () => number;
  /** Registers how to stop the current work if the caller leaves; one registration at a time. */
  readonly onAbort: (end: () => void) => void;
  /** Called before a write whose result may stay unknown if the caller leaves. */
  readonly noteWriting?: () => void;
};

export type Random = {
  /** Cryptographically strong bytes. */
  readonly bytes: (count: number) => Uint8Array;
};

export type ClockAndRandom = { readonly clock: Clock; readonly random: Random };

/**
 * How far the clocks of machines that share a database may differ. A row that is further in the
 * future was written before a clock was set back.
 */
export const mostSkew_ms = 5_000;
