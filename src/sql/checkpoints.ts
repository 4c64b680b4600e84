/**
 * Carries the log over into the file, in the thread of the long reads: it syncs both, and would
 * hold up everybody for as long. A log is begun anew only where all of it was carried over, which
 * never comes true while others go on writing: from a certain length on they wait for it.
 */
export type Checkpoints = {
  readonly noteCommit: () => void;
  /** While it is there, nobody begins to write before it is over. */
  readonly findHold: () => Promise<void> | undefined;
};

/** How many pages the log has, and how many of them are in the file as well. */
export type LogPages = { readonly log: number; readonly carried: number };

const commitsApart = 50;
/** 40 MB. */
export const longestLog_pages = 10_000;

type CarryOver = () => Promise<LogPages>;

/** Does the work when the thread is free, and nothing else there until it is over. */
type TakeTurn = (work: (carryOver: CarryOver) => Promise<void>) => Promise<void>;

/** Where it fails, the connection that writes does the same once the log is still longer. */
export function createCheckpoints(takeTurn: TakeTurn): Checkpoints {
  let commits = 0;
  let isRunning = false;
  let hold: Promise<void> | undefined;
  let longest_pages = longestLog_pages;

  async function run(carryOver: CarryOver): Promise<void> {
    const { log } = await carryOver();
    if (log < longest_pages) return;
    // In the same turn: writers would wait for the long reads that come before the next one.
    hold = carryOverAll(carryOver);
    await hold;
  }

  async function carryOverAll(carryOver: CarryOver): Promise<void> {
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
      if (commits < commitsApart || isRunning) return;
      commits = 0;
      isRunning = true;
      void takeTurn(run)
        .catch(() => undefined)
        .finally(() => (isRunning = false));
    },
    findHold: () => hold?.catch(() => undefined),
  };
}
