import { setImmediate } from "node:timers/promises";
import { longestPause_ms, realTime, requireWaiting, type Time } from "./busy-lock.ts";
import { StoreBusy } from "./faults.ts";
import type { WriteOptions, WriteSignal } from "./sql.ts";
import { createWriteLine } from "./write-line.ts";

/**
 * Writers that wait at the same moment share one transaction, and so one wait for the disk. Each
 * has a savepoint of its own: one that fails takes back its own work alone. Nobody is answered
 * before the group is on the disk, not even one that failed: why it failed may be what another one
 * has written. The next group need not wait for that.
 */

/** A transaction and the savepoints in it, as the one connection that writes makes them. */
export type TransactionSteps = {
  /** Waits for the lock that keeps other processes away; the signal tells that nobody waits. */
  readonly begin: (signal: WriteSignal) => Promise<void>;
  readonly commit: () => void;
  /** Resolves when all that was committed is on the disk. */
  readonly sync: () => Promise<void>;
  /** Where the engine has taken everything back by itself, nothing happens. */
  readonly rollback: () => void;
  readonly openSavepoint: () => void;
  readonly keepSavepoint: () => void;
  /** Throws where the engine has ended the whole transaction. */
  readonly undoSavepoint: () => void;
};

export type GroupCommit = {
  readonly write: <Result>(work: () => Promise<Result>, options?: WriteOptions) => Promise<Result>;
  /** How many transactions were committed. */
  readonly countCommits: () => number;
  /** Serves those who wait, and nobody who comes later; all of them were told. */
  readonly finish: () => Promise<void>;
};

type Writer = {
  readonly work: () => Promise<unknown>;
  readonly signal: WriteSignal | undefined;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
};

/** A writer whose work is over, and what it is told once the group is on the disk. */
type Served = { readonly writer: Writer; readonly tell: () => void; readonly isKept: boolean };

/** A full disk under one of the writers ends the transaction of all. */
class TransactionLost extends Error {
  override readonly name = "TransactionLost";
}

/** Nobody joins an older group: its first writer, and other processes, wait for its last one. */
const longestGroup_ms = 8;
/** After so much of it, whatever else the process does has its turn. */
const longestTurn_ms = 2;

export function createGroupCommit(steps: TransactionSteps, time = realTime): GroupCommit {
  const { monotonic, sleep } = time;
  const line = createWriteLine<Writer>();
  let commits = 0;
  let running: Promise<void> | undefined;
  let telling: Promise<void> | undefined;
  let isOver = false;
  const countedSteps: TransactionSteps = {
    ...steps,
    commit: () => {
      steps.commit();
      // Before anybody is told: who knows of a write must find it counted.
      commits += 1;
    },
  };

  async function writeGroups(): Promise<void> {
    let runStarted: number | undefined;
    do {
      // Whoever comes in the same turn of the event loop is in the same group.
      await setImmediate();
      runStarted ??= monotonic();
      // Other processes write after a long run: SQLite has one lock and no queue (storage.md §0).
      if (monotonic() - runStarted >= longestGroup_ms) {
        await sleep(1 + Math.random() * longestPause_ms);
        runStarted = monotonic();
      }
      const served = await writeGroup(countedSteps, line.choose(), monotonic);
      if (served.length > 0) telling = tellAll(served, steps.sync());
    } while (!line.isEmpty());
    running = undefined;
  }

  return {
    write: <Result>(
      work: () => Promise<Result>,
      { signal, isPatient = false }: WriteOptions = {},
    ) =>
      new Promise<Result>((resolve, reject) => {
        if (isOver) throw new StoreBusy("the store is closed");
        // The promise is resolved with what its own work answers.
        const writer = { work, signal, resolve: resolve as Writer["resolve"], reject };
        line.add(writer, isPatient);
        running ??= writeGroups();
      }),
    countCommits: () => commits,
    finish: async () => {
      // Else whoever writes again and again would keep it open for ever.
      isOver = true;
      await running;
      await telling;
    },
  };
}

/** Serves the writers of a line in one transaction; those who are not told yet. */
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
    if (error instanceof TransactionLost) repeatOthers(line, served, error);
    else for (const { writer } of served) writer.reject(error);
    return [];
  }
  return served;
}

/** Where the disk fails, nobody knows what it has kept. */
async function tellAll(served: readonly Served[], synced: Promise<void>): Promise<void> {
  try {
    await synced;
  } catch (error) {
    for (const { writer } of served) writer.reject(error);
    return;
  }
  for (const { tell } of served) tell();
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
    served.push({ writer, tell: () => writer.resolve(result), isKept: true });
  } catch (error) {
    served.push({ writer, tell: () => writer.reject(error), isKept: false });
    undoSavepoint(steps, error);
  }
}

function undoSavepoint(steps: TransactionSteps, cause: unknown): void {
  try {
    steps.undoSavepoint();
  } catch {
    throw new TransactionLost("the engine ended the transaction", { cause });
  }
}

/** Only the last one is to blame; of the others' work nothing is left, so it is done again. */
function repeatOthers(line: Writer[], served: Served[], { cause }: TransactionLost): void {
  served.pop()?.writer.reject(cause);
  line.unshift(...served.map(({ writer }) => writer));
}
