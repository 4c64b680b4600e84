import { setImmediate } from "node:timers/promises";
import { longestPause_ms, realTime, requireWaiting, type Time } from "./busy-lock.ts";
import { StoreBusy } from "./faults.ts";
import type { WriteOptions, WriteSignal } from "./sql.ts";

/**
 * Writers that wait at the same moment share one transaction, and so one wait for the disk. Each
 * has its own savepoint: one that fails takes back only its own work. No caller gets an answer
 * before the group is on the disk, not even for a failure: its reason may be what another writer
 * has written. The next group does not wait for that.
 */

/** A transaction and the savepoints in it, as the one connection that writes makes them. */
export type TransactionSteps = {
  /** Waits for the lock that keeps other processes away, unless every caller has left. */
  readonly begin: (signal: WriteSignal) => Promise<void>;
  readonly commit: () => void;
  /** Resolves when everything that was committed is on the disk. */
  readonly sync: () => Promise<void>;
  /** Does nothing when the engine has rolled back by itself. */
  readonly rollback: () => void;
  readonly openSavepoint: () => void;
  readonly keepSavepoint: () => void;
  /** Throws when the engine has ended the whole transaction. */
  readonly undoSavepoint: () => void;
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
type Served = { readonly writer: Writer; readonly answer: () => void; readonly isKept: boolean };

/** A full disk under one of the writers ends the transaction of all. */
class TransactionLost extends Error {
  override readonly name = "TransactionLost";
}

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
  const countedSteps: TransactionSteps = {
    ...steps,
    commit: () => {
      steps.commit();
      // Before a caller gets its answer: a cache must not miss a write that somebody knows of.
      commits += 1;
    },
  };

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
      const served = await writeGroup(countedSteps, chooseLine(), monotonic);
      if (served.length > 0) answering = answerAll(served, steps.sync());
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
  if (!(await beginGroup(steps, line))) return [];
  const served: Served[] = [];
  try {
    await serveLine(steps, line, served, monotonic);
    if (served.some(({ isKept }) => isKept)) steps.commit();
    else steps.rollback();
  } catch (error) {
    steps.rollback();
    if (error instanceof TransactionLost) {
      // Only the last one is to blame; nothing is left of the others' work, so it is done again.
      served.pop()?.writer.reject(error.cause);
      line.unshift(...served.map(({ writer }) => writer));
    } else for (const { writer } of served) writer.reject(error);
    return [];
  }
  return served;
}

/** When the disk fails, no one can tell what it has kept. */
async function answerAll(served: readonly Served[], synced: Promise<void>): Promise<void> {
  try {
    await synced;
  } catch (error) {
    for (const { writer } of served) writer.reject(error);
    return;
  }
  for (const { answer } of served) answer();
}

async function beginGroup({ begin }: TransactionSteps, line: Writer[]): Promise<boolean> {
  const waiting = [...line];
  try {
    await begin({ hasLeft: () => waiting.every(({ signal }) => signal?.hasLeft() === true) });
    return true;
  } catch (error) {
    // Each of them has waited for the lock for as long as one waits.
    for (const { reject } of line.splice(0, waiting.length)) reject(error);
    return false;
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

async function serve(steps: TransactionSteps, writer: Writer, served: Served[]): Promise<void> {
  try {
    requireWaiting(writer.signal);
  } catch (error) {
    writer.reject(error);
    return;
  }
  try {
    writer.signal?.noteWriting?.();
    steps.openSavepoint();
    const result = await writer.work();
    steps.keepSavepoint();
    served.push({ writer, answer: () => writer.resolve(result), isKept: true });
  } catch (error) {
    served.push({ writer, answer: () => writer.reject(error), isKept: false });
    try {
      steps.undoSavepoint();
    } catch {
      throw new TransactionLost("the engine ended the transaction", { cause: error });
    }
  }
}
