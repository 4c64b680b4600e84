/** The clock and the random bytes, passed in so that a test can fix them. */

export type Clock = {
  /** The time of day, in milliseconds since 1970: what is written into rows. */
  readonly now: () => number;
  /** Milliseconds that never jump: what windows and deadlines are measured with. */
  readonly monotonic: () => number;
};

/**
 * Calls `ring` once, after so many milliseconds, unless the function that it returns was called
 * before. It does not keep a process alive that has nothing else to do.
 */
export type SetAlarm = (milliseconds: number, ring: () => void) => () => void;

/** A caller that waits for an answer; once it has left, no more work may begin for it. */
export type Waiter = {
  /** Asked, and no getter: objects with a getter each have a shape each, which V8 keeps long. */
  readonly hasLeft: () => boolean;
  /** How long it still waits; none, or less, where what has begun may only just end. */
  readonly left_ms?: () => number;
  /** Has what is under way for the caller ended when it leaves; for one thing at a time. */
  readonly onAbort: (end: () => void) => void;
  /** Tells that something is being written for it, whose end is not known before it is told. */
  readonly noteWriting?: () => void;
};

export type Random = {
  /** Cryptographically strong bytes. */
  readonly bytes: (count: number) => Uint8Array;
};

export type ClockAndRandom = { readonly clock: Clock; readonly random: Random };
