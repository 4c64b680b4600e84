/** What code takes from the world around it, passed in so that a test can hold it still. */

export type Clock = {
  /** The time of day, in milliseconds since 1970: what is written into rows. */
  readonly now: () => number;
  /** Milliseconds that never jump: what windows and deadlines are measured with. */
  readonly monotonic: () => number;
};

/**
 * Calls back once, when so many milliseconds are over, unless what it answers was called before. A
 * process that has nothing else to do does not stay for it.
 */
export type SetAlarm = (milliseconds: number, ring: () => void) => () => void;

/** Whoever waits for an answer; once aborted, nothing more may begin on their behalf. */
export type Waiter = { readonly aborted: boolean };

export type Random = {
  /** Cryptographically strong bytes. */
  readonly bytes: (count: number) => Uint8Array;
};

export type ClockAndRandom = { readonly clock: Clock; readonly random: Random };
