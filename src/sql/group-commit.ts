import { setImmediate } from "node:timers/promises";
import { longestPause_ms, realTime, type WaitingClock } from "./busy-lock.ts";
import { ignoreFault, StoreBusy } from "./faults.ts";
import type { WriteOptions, WriteSignal } from "./sql.ts";

/**
 * Commits concurrent writes together. Writers that wait at the same moment share one transaction,
 * and so one wait for the disk. Each has a savepoint, so a failing writer undoes only its own work.
 * No caller gets an answer before the group is on disk, not even a failure, because its reason may
 * be another write of the group. The next group starts without waiting for the disk.
 */

/** The operations of the only writing connection. */
export type TransactionSteps = {
  /** Waits for the lock against other processes, unless every caller has left. */
  readonly begin: (signal: WriteSignal) => Promise<void>;
  readonly exec: (statement: string) => void;
  /** Resolves when everything that was committed is on disk. */
  readonly sync: () => Promise<void>;
};

export type GroupCommit = {
  readonly write: <Result>(work: () => Promise<Result>, options?: WriteOptions) => Promise<Result>;
  /** The number of committed transactions. */
  readonly countCommits: () => number;
  /** Rejects all later writes. Resolves when every waiting caller has its answer. */
  readonly finish: () => Promise<void>;
};

type WaitingWriter = {
  readonly work: () => Promise<unknown>;
  readonly signal: WriteSignal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A writer whose work has ended, and its answer once the group is on disk. */
type ServedWriter = Pick<WaitingWriter, "reject"> & {
  readonly answer: () => void;
  readonly isKept: boolean;
};

/**
 * A group accepts no writers after this time, because its first writer and other processes wait.
 */
const longestGroup_ms = 8;
/** After this time, other work of the process gets a turn. */
const longestTurn_ms = 2;
/** How many groups of other writers may go before the patient ones. */
const mostPassings = 4;

export function createGroupCommit(steps: TransactionSteps, time = realTime): GroupCommit {
  const { monotonic, sleep } = time;
  const hurried: WaitingWriter[] = [];
  const patient: WaitingWriter[] = [];
  let passings = 0;
  let commits = 0;
  let running: Promise<void> | undefined;
  let answering: Promise<void> | undefined;
  let isOver = false;

  function chooseLine(): WaitingWriter[] {
    const arePatientNext = patient.length > 0 && (hurried.length === 0 || passings >= mostPassings);
    passings = arePatientNext || patient.length === 0 ? 0 : passings + 1;
    return arePatientNext ? patient : hurried;
  }

  async function writeGroups(): Promise<void> {
    let runStarted: number | undefined;
    do {
      // Writers that start in the same turn of the event loop join the same group.
      await setImmediate();
      runStarted ??= monotonic();
      // Lets other processes write after a long run, because SQLite's lock has no queue.
      if (monotonic() - runStarted >= longestGroup_ms) {
        await sleep(1 + Math.random() * longestPause_ms);
        runStarted = monotonic();
      }
      const served = await writeGroup(steps, chooseLine(), monotonic);
      if (served.length === 0) continue;
      // Counted before callers get their answers, because caches must notice every write that a
      // caller knows of.
      if (served.some(({ isKept }) => isKept)) commits += 1;
      answering = steps.sync().then(
        () => served.forEach(({ answer }) => answer()),
        // If the disk fails, it is unknown what was kept.
        (error: unknown) => served.forEach(({ reject }) => reject(error)),
      );
    } while (hurried.length + patient.length > 0);
    running = undefined;
  }

  return {
    write: <Result>(
      work: () => Promise<Result>,
      { signal, isPatient = false }: WriteOptions = {},
    ) =>
      new Promise<Result>((resolve, reject) => {
        if (isOver) throw new StoreBusy("the store is closed");
        // The promise resolves with what its own work returns.
        const writer = { work, signal, resolve: resolve as WaitingWriter["resolve"], reject };
        (isPatient ? patient : hurried).push(writer);
        running ??= writeGroups();
      }),
    countCommits: () => commits,
    finish: async () => {
      isOver = true;
      await running;
      await answering;
    },
  };
}

/** Runs the writers of a line in one transaction. Returns those that wait for the disk. */
async function writeGroup(
  steps: TransactionSteps,
  line: WaitingWriter[],
  monotonic: WaitingClock["monotonic"],
): Promise<readonly ServedWriter[]> {
  const waiting = [...line];
  try {
    await steps.begin({ hasLeft: () => waiting.every(({ signal }) => signal?.hasLeft() === true) });
  } catch (error) {
    // Each of them has waited for the lock for the longest allowed time.
    for (const { reject } of line.splice(0, waiting.length)) reject(error);
    return [];
  }
  const served: ServedWriter[] = [];
  try {
    await serveLine(steps, line, served, monotonic);
    steps.exec(served.some(({ isKept }) => isKept) ? "COMMIT" : "ROLLBACK");
    return served;
  } catch (error) {
    // The engine may already have rolled back.
    ignoreFault(() => steps.exec("ROLLBACK"));
    for (const { reject } of served) reject(error);
    return [];
  }
}

async function serveLine(
  steps: TransactionSteps,
  line: WaitingWriter[],
  served: ServedWriter[],
  monotonic: WaitingClock["monotonic"],
): Promise<void> {
  const groupStarted = monotonic();
  let turnStarted = groupStarted;
  for (let writer = line.shift(); writer !== undefined; writer = line.shift()) {
    await serve(steps, writer, served);
    const now = monotonic();
    if (now - groupStarted >= longestGroup_ms) return;
    if (now - turnStarted < longestTurn_ms) continue;
    await setImmediate();
    turnStarted = monotonic();
  }
}

async function serve(
  { exec }: TransactionSteps,
  { work, signal, resolve, reject }: WaitingWriter,
  served: ServedWriter[],
): Promise<void> {
  if (signal?.hasLeft() === true) {
    reject(new StoreBusy("the caller stopped waiting"));
    return;
  }
  try {
    signal?.noteWriting?.();
    exec("SAVEPOINT one");
    const result = await work();
    exec("RELEASE one");
    served.push({ reject, answer: () => resolve(result), isKept: true });
  } catch (error) {
    served.push({ reject, answer: () => reject(error), isKept: false });
    try {
      exec("ROLLBACK TO one; RELEASE one");
    } catch {
      // A full disk has ended the whole transaction, so nothing of the group is left.
      throw error;
    }
  }
}
