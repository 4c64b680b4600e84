import { setImmediate } from "node:timers/promises";
import { longestPause_ms, realTime, ignoreFault, StoreBusy, type WaitingClock } from "./faults.ts";
import type { WriteOptions, WriteSignal } from "./sql.ts";

/**
 * Commits concurrent writes as a group, with one transaction and one sync to disk. Each writer has
 * a savepoint, so a failed writer undoes only its own work. All callers get their results once the
 * group is on disk. Failed writers wait too, because another write of the group may have caused the
 * error. The next group does not wait for the sync.
 */

/** The operations on the connection that runs all writes. */
export type TransactionSteps = {
  /** Waits for the write lock. Gives up once none of the callers is waiting any more. */
  readonly begin: (signal: WriteSignal) => Promise<void>;
  readonly exec: (statement: string) => void;
  /** Resolves when all commits are on disk. */
  readonly sync: () => Promise<void>;
};

export type GroupCommit = {
  readonly write: <Result>(work: () => Promise<Result>, options?: WriteOptions) => Promise<Result>;
  /** Rejects new writes. Resolves when every waiting caller has its result. */
  readonly finish: () => Promise<void>;
};

type WaitingWriter = {
  readonly work: () => Promise<unknown>;
  readonly signal: WriteSignal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A writer that has finished. Its caller gets the result once the group is on disk. */
type ServedWriter = Pick<WaitingWriter, "reject"> & {
  readonly answer: () => void;
  readonly isKept: boolean;
};

/** After this time, a group accepts no more writers, because its callers are waiting. */
const longestGroup_ms = 8;
/** After this time, a group pauses, so that other work of the process can run. */
const longestSlice_ms = 2;
/** How many groups of normal writers may run while patient writers wait. */
const mostPassings = 4;

export function createGroupCommit(steps: TransactionSteps, time = realTime): GroupCommit {
  const { monotonic, sleep } = time;
  const hurried: WaitingWriter[] = [];
  const patient: WaitingWriter[] = [];
  let passings = 0;
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
      // Lets all writers of this iteration of the event loop join the group.
      await setImmediate();
      runStarted ??= monotonic();
      // Pause after a while, so that other processes can write. SQLite's lock has no queue.
      if (monotonic() - runStarted >= longestGroup_ms) {
        await sleep(1 + Math.random() * longestPause_ms);
        runStarted = monotonic();
      }
      const served = await writeGroup(steps, chooseLine(), monotonic);
      if (served.length === 0) continue;
      answering = steps.sync().then(
        () => served.forEach(({ answer }) => answer()),
        // If the disk fails, it is unknown which writes were stored.
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
        // The cast is safe, because `resolve` only gets the result of this writer's own `work`.
        const writer = { work, signal, resolve: resolve as WaitingWriter["resolve"], reject };
        (isPatient ? patient : hurried).push(writer);
        running ??= writeGroups();
      }),
    finish: async () => {
      isOver = true;
      await running;
      await answering;
    },
  };
}

/** Runs the waiting writers in one transaction. Returns those whose results wait for the sync. */
async function writeGroup(
  steps: TransactionSteps,
  line: WaitingWriter[],
  monotonic: WaitingClock["monotonic"],
): Promise<readonly ServedWriter[]> {
  const waiting = [...line];
  try {
    await steps.begin({ hasLeft: () => waiting.every(({ signal }) => signal?.hasLeft() === true) });
  } catch (error) {
    // The write lock was not free in time for any of these writers.
    for (const { reject } of line.splice(0, waiting.length)) reject(error);
    return [];
  }
  const served: ServedWriter[] = [];
  try {
    await serveLine(steps, line, served, monotonic);
    steps.exec(served.some(({ isKept }) => isKept) ? "COMMIT" : "ROLLBACK");
    return served;
  } catch (error) {
    // SQLite may already have rolled back.
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
  let sliceStarted = groupStarted;
  for (let writer = line.shift(); writer !== undefined; writer = line.shift()) {
    await serve(steps, writer, served);
    const now = monotonic();
    if (now - groupStarted >= longestGroup_ms) return;
    if (now - sliceStarted < longestSlice_ms) continue;
    await setImmediate();
    sliceStarted = monotonic();
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
      // If the disk is full, SQLite rolls back the whole transaction, including the group's other
      // writes.
      throw error;
    }
  }
}
