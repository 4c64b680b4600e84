/** One small mistake that somebody who moves code could make, and what should notice it. */
export type Mutation = {
  /** What it is called on the command line. */
  readonly id: string;
  readonly file: string;
  /** What goes wrong with it, in a few words. */
  readonly what: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The test files of which one has to fail. */
  readonly tests: readonly string[];
};
