import { sql, type RawBuilder, type SqlBool } from "kysely";
import { StoreBusy } from "./faults.ts";
import type { Reader } from "./reader.ts";
import type { RunStatement } from "./run-statements.ts";
import type { ReadOptions, WriteSignal } from "./sql.ts";

/**
 * Reads that may take long, one after the other in a thread of their own. It is started for the
 * first of them, and ends when none has come for a while. There is one: a second would take a
 * processor from the thread that serves visitors, and many a machine has two.
 */
export type LongReads<OneReader extends Reader> = {
  readonly read: <Result>(work: () => Promise<Result>, options: ReadOptions) => Promise<Result>;
  /** Runs a statement of the work that has its turn. */
  readonly run: RunStatement;
  /** The reader of the work that has its turn. */
  readonly use: () => OneReader;
  /** Does something else with the reader when it is its turn, while it holds no moment. */
  readonly aside: <Result>(work: (reader: OneReader) => Promise<Result>) => Promise<Result>;
  readonly close: () => Promise<void>;
};

/** A read that waits for its turn or has it. */
type Reading<OneReader> = {
  readonly signal: WriteSignal;
  readonly begin: () => Promise<void>;
  readonly refuse: (error: unknown) => void;
  /** All of its statements are of one connection, and so of one moment. */
  reader?: OneReader;
};

/** Of one line; those after them would be answered too late. */
const mostWaiting = 100;
const idle_ms = 30_000;
/** The line of what is done aside; no project has such an id. */
const asideLine = "aside";
const nobody: WriteSignal = { hasLeft: () => false };

/**
 * A condition that always holds, but ends the statement where nobody waits for it any more. It is
 * asked for one row in a thousand, and first, so that no other condition keeps it from being asked:
 * a hundredth of the time of what goes through all rows.
 */
export function whileAwaited(rowkey: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${rowkey} & 1023 or is_awaited())`;
}

export function createLongReads<OneReader extends Reader>(
  openReader: OpenReader<OneReader>,
): LongReads<OneReader> {
  const held = holdReader(openReader);
  const lines = new Map<string, Reading<OneReader>[]>();
  let current: Reading<OneReader> | undefined;
  let serving: Promise<void> | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function serve(): Promise<void> {
    clearTimeout(idleTimer);
    for (current = takeNext(lines); current !== undefined; current = takeNext(lines)) {
      await current.begin();
      current.reader?.letGo();
    }
    serving = undefined;
    idleTimer = setTimeout(() => void held.close(), idle_ms).unref();
  }

  const isOver = ({ signal }: Reading<OneReader>) => isClosed || signal.hasLeft();

  /** False where it is refused. */
  function join(reading: Reading<OneReader>, line: string): boolean {
    const waiting = lines.get(line) ?? [];
    const isJoining = !isOver(reading) && waiting.length < mostWaiting;
    if (isJoining) lines.set(line, [...waiting, reading]);
    else reading.refuse(new StoreBusy("nobody waits, or too many"));
    if (isJoining) serving ??= serve();
    return isJoining;
  }

  function leave(reading: Reading<OneReader>, line: string): void {
    if (reading === current) reading.reader?.interrupt();
    else if (removeFrom(lines, line, reading)) reading.refuse(new StoreBusy("the caller has left"));
  }

  const use = () => (current && !isOver(current) ? (current.reader ??= held.open()) : refuseLate());

  return {
    read: <Result>(work: () => Promise<Result>, { signal, line }: ReadOptions) =>
      new Promise<Result>((resolve, reject) => {
        const begin = () =>
          work().then(resolve, (error: unknown) => {
            reject(isOver(reading) ? new StoreBusy("nobody waits", { cause: error }) : error);
          });
        const reading: Reading<OneReader> = { signal, begin, refuse: reject };
        if (join(reading, line)) signal.onAbort(() => leave(reading, line));
      }),
    run: async (query) => use().run(query),
    use,
    aside: <Result>(work: (reader: OneReader) => Promise<Result>) =>
      new Promise<Result>((resolve, reject) => {
        // Where no thread can be started, only this work fails.
        const begin = () => Promise.resolve().then(held.open).then(work).then(resolve, reject);
        join({ signal: nobody, begin, refuse: reject }, asideLine);
      }),
    close: async () => {
      isClosed = true;
      for (const { refuse } of [...lines.values()].flat()) refuse(new StoreBusy("closing"));
      lines.clear();
      current?.reader?.interrupt();
      await serving;
      clearTimeout(idleTimer);
      await held.close();
    },
  };
}

function refuseLate(): never {
  throw new StoreBusy("the read is over");
}

type OpenReader<OneReader> = (onEnd: () => void) => OneReader;

/** The one reader, a new one where it has ended. */
function holdReader<OneReader extends Reader>(openReader: OpenReader<OneReader>) {
  let reader: OneReader | undefined;
  let closed = Promise.resolve();
  return {
    open: (): OneReader => {
      if (reader !== undefined) return reader;
      const opened = openReader(() => {
        if (reader === opened) reader = undefined;
      });
      reader = opened;
      return opened;
    },
    close: (): Promise<void> => {
      if (reader !== undefined) closed = reader.close();
      reader = undefined;
      return closed;
    },
  };
}

/** The first of the line whose turn it is; that line is the last one then. */
function takeNext<One>(lines: Map<string, One[]>): One | undefined {
  for (const [line, [first, ...others]] of lines) {
    lines.delete(line);
    if (others.length > 0) lines.set(line, others);
    return first;
  }
  return undefined;
}

/** False where it was not waiting any more. */
function removeFrom<One>(lines: Map<string, One[]>, line: string, reading: One): boolean {
  const waiting = lines.get(line) ?? [];
  const others = waiting.filter((other) => other !== reading);
  if (others.length > 0) lines.set(line, others);
  else lines.delete(line);
  return others.length < waiting.length;
}
