/** What code takes from the world around it, passed in so that a test can hold it still. */

export type Clock = {
  /** The time of day, in milliseconds since 1970: what is written into rows. */
  readonly now: () => number;
  /** Milliseconds that never jump: what windows and deadlines are measured with. */
  readonly monotonic: () => number;
};

/** Whoever waits for an answer; once aborted, nothing more may begin on their behalf. */
export type Waiter = { readonly aborted: boolean };

export type Random = {
  /** Cryptographically strong bytes. */
  readonly bytes: (count: number) => Uint8Array;
};
