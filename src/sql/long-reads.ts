import { sql, type RawBuilder, type SqlBool } from "kysely";
import { createFairTurns } from "./fair-turns.ts";
import { StoreBusy } from "./faults.ts";
import { openReader, type ThreadReader } from "./reader.ts";
import type { RunStatement } from "./run-statements.ts";
import type { ReadOptions, ReadSignal } from "./sql.ts";

/**
 * Reads of a SQLite file that may take long, one after the other in a thread of their own. The
 * thread starts with the first of them and ends when none has come for a while. There is one: a
 * second would take a processor from the thread that serves visitors, and many machines have two.
 */
export type LongReads = {
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement of the work that has its turn. */
  readonly run: RunStatement;
  /** Uses the thread for something else, while it holds no snapshot. */
  readonly aside: <Result>(work: (reader: ThreadReader) => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
};

/** Of one project; those behind them would be answered too late. */
const mostWaiting = 100;
const idle_ms = 30_000;
/** No project has such an id. */
const asideLine = "aside";

/**
 * A condition that always holds, but ends the statement when no caller waits for it any more. It is
 * checked for one row in a thousand, and first, so that no other condition keeps it from being
 * checked: a hundredth of the time of what goes through all rows.
 */
export function whileAwaited(rowkey: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${rowkey} & 1023 or is_awaited())`;
}

export function createLongReads(path: string): LongReads {
  const turns = createFairTurns(1, mostWaiting);
  let reader: ThreadReader | undefined;
  /** Of the read that has its turn. */
  let current: ReadSignal | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  function holdReader(): ThreadReader {
    if (reader !== undefined) return reader;
    const opened = openReader(path, () => {
      if (reader === opened) reader = undefined;
    });
    reader = opened;
    return opened;
  }

  async function closeReader(): Promise<void> {
    const closing = reader?.close();
    reader = undefined;
    await closing;
  }

  async function use<Result>(work: () => Promise<Result>): Promise<Result> {
    clearTimeout(idleTimer);
    try {
      return await work();
    } finally {
      current = undefined;
      reader?.letGo();
      idleTimer = setTimeout(() => void closeReader(), idle_ms).unref();
    }
  }

  return {
    read: (work, { signal, line }) => {
      const begin = () => {
        current = signal;
        signal.onAbort(() => {
          if (current === signal) reader?.interrupt();
        });
        return work();
      };
      return turns.run(() => use(begin), { line, signal });
    },
    run: async (query) => {
      if (current === undefined || current.hasLeft()) throw new StoreBusy("the read is over");
      return holdReader().run(query);
    },
    aside: (work) => turns.run(() => use(async () => work(holdReader())), { line: asideLine }),
    close: async () => {
      turns.refuseAll();
      current = undefined;
      reader?.interrupt();
      await turns.finish();
      clearTimeout(idleTimer);
      await closeReader();
    },
  };
}
