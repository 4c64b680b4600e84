import { setImmediate } from "node:timers/promises";
import { longestPause_ms, realTime, type Time } from "./busy-lock.ts";
import { ignoreFault, StoreBusy } from "./faults.ts";
import type { WriteOptions, WriteSignal } from "./sql.ts";

/**
 * Writers that wait at the same moment share one transaction, and so one wait for the disk. Each
 * has its own savepoint: one that fails takes back only its own work. No caller gets an answer
 * before the group is on the disk, not even for a failure: its reason may be what another writer
 * has written. The next group does not wait for that.
 */

/** The one connection that writes, and the disk below it. */
export type TransactionSteps = {
  /** Waits for the lock that keeps other processes away, unless every caller has left. */
  readonly begin: (signal: WriteSignal) => Promise<void>;
  readonly exec: (statement: string) => void;
  /** Resolves when everything that was committed is on the disk. */
  readonly sync: () => Promise<void>;
};

export type GroupCommit = {
  readonly write: <Result>(work: () => Promise<Result>, options?: WriteOptions) => Promise<Result>;
  /** How many transactions were committed. */
  readonly countCommits: () => number;
  /** Refuses everything that comes later. Resolves when every waiting caller has its answer. */
  readonly finish: () => Promise<void>;
};

type Writer = {
  readonly work: () => Promise<unknown>;
  readonly signal: WriteSignal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A writer whose work is over, and the answer it gets once the group is on the disk. */
type Served = Pick<Writer, "reject"> & { readonly answer: () => void; readonly isKept: boolean };

/** Nobody joins an older group: its first writer, and other processes, wait for its last one. */
const longestGroup_ms = 8;
/** After so much of it, everything else in the process gets a turn. */
const longestTurn_ms = 2;
/** How many groups of others may pass the patient writers. */
const mostPassings = 4;

export function createGroupCommit(steps: TransactionSteps, time = realTime): GroupCommit {
  const { monotonic, sleep } = time;
  const hurried: Writer[] = [];
  const patient: Writer[] = [];
  let passings = 0;
  let commits = 0;
  let running: Promise<void> | undefined;
  let answering: Promise<void> | undefined;
  let isOver = false;

  function chooseLine(): Writer[] {
    const arePatientNext = patient.length > 0 && (hurried.length === 0 || passings >= mostPassings);
    passings = arePatientNext || patient.length === 0 ? 0 : passings + 1;
    return arePatientNext ? patient : hurried;
  }

  async function writeGroups(): Promise<void> {
    let runStarted: number | undefined;
    do {
      // Writers that come in the same turn of the event loop are in the same group.
      await setImmediate();
      runStarted ??= monotonic();
      // Other processes write after a long run: SQLite has one lock and no queue.
      if (monotonic() - runStarted >= longestGroup_ms) {
        await sleep(1 + Math.random() * longestPause_ms);
        runStarted = monotonic();
      }
      const served = await writeGroup(steps, chooseLine(), monotonic);
      if (served.length === 0) continue;
      // Before a caller gets its answer: a cache must not miss a write that somebody knows of.
      if (served.some(({ isKept }) => isKept)) commits += 1;
      answering = steps.sync().then(
        () => served.forEach(({ answer }) => answer()),
        // When the disk fails, no one can tell what it has kept.
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
        // The promise is resolved with what its own work returns.
        const writer = { work, signal, resolve: resolve as Writer["resolve"], reject };
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

/** Serves the writers of a line in one transaction. Returns those that wait for the disk. */
async function writeGroup(
  steps: TransactionSteps,
  line: Writer[],
  monotonic: Time["monotonic"],
): Promise<readonly Served[]> {
  const waiting = [...line];
  try {
    await steps.begin({ hasLeft: () => waiting.every(({ signal }) => signal?.hasLeft() === true) });
  } catch (error) {
    // Each of them has waited for the lock for as long as one waits.
    for (const { reject } of line.splice(0, waiting.length)) reject(error);
    return [];
  }
  const served: Served[] = [];
  try {
    await serveLine(steps, line, served, monotonic);
    steps.exec(served.some(({ isKept }) => isKept) ? "COMMIT" : "ROLLBACK");
    return served;
  } catch (error) {
    // The engine may have rolled back by itself.
    ignoreFault(() => steps.exec("ROLLBACK"));
    for (const { reject } of served) reject(error);
    return [];
  }
}

async function serveLine(
  steps: TransactionSteps,
  line: Writer[],
  served: Served[],
  monotonic: Time["monotonic"],
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
  { work, signal, resolve, reject }: Writer,
  served: Served[],
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
      // A full disk has ended the transaction of all, and nothing is left of anybody's work.
      throw error;
    }
  }
}
