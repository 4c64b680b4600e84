/**
 * Carries the log over into the file, in the thread of the long reads: it syncs both, and would
 * hold up everybody for as long. A log is begun anew only where all of it was carried over, which
 * never comes true while others go on writing: from a certain length on they wait for it.
 */
export type Checkpoints = {
  readonly noteCommit: () => void;
  /** While it is there, nobody begins to write before it is over. */
  readonly findHold: () => Promise<void> | undefined;
  readonly finish: () => Promise<void>;
};

/** How many pages the log has, and how many of them are in the file as well. */
export type LogPages = { readonly log: number; readonly carried: number };

const commitsApart = 50;
/** 40 MB. */
export const longestLog_pages = 10_000;

/** Where it fails, the connection that writes does the same once the log is still longer. */
export function createCheckpoints(carryOver: () => Promise<LogPages>): Checkpoints {
  let commits = 0;
  let running: Promise<void> | undefined;
  let hold: Promise<void> | undefined;
  let longest_pages = longestLog_pages;

  async function run(): Promise<void> {
    const { log } = await carryOver();
    if (log < longest_pages) return;
    hold = carryOverAll();
    await hold;
  }

  async function carryOverAll(): Promise<void> {
    try {
      const { log, carried } = await carryOver();
      // A reader of an older moment keeps the log as it is, and writers do not wait in vain again.
      longest_pages = carried < log ? log * 2 : longestLog_pages;
    } finally {
      hold = undefined;
    }
  }

  return {
    noteCommit: () => {
      commits += 1;
      if (commits < commitsApart || running !== undefined) return;
      commits = 0;
      running = run()
        .catch(() => undefined)
        .finally(() => (running = undefined));
    },
    findHold: () => hold?.catch(() => undefined),
    finish: async () => {
      await running;
    },
  };
}
