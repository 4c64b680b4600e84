import { openDatabase } from "../../../src/sql/engine.ts";
import { retryWhileBusy } from "../../../src/sql/faults.ts";

/**
 * A log of all writes to links, one line each. Triggers write it in the same transaction, even if
 * the caller is killed.
 */
export type WriteLog = {
  /** Returns new lines such as "create a", "update b" and "delete c", in order. */
  readonly take: () => Promise<readonly string[]>;
  /** The number of lines that were not returned yet. */
  readonly count: () => Promise<number>;
  readonly close: () => void;
};

const acts = [
  { act: "create", event: "insert", row: "new" },
  { act: "update", event: "update", row: "new" },
  { act: "delete", event: "delete", row: "old" },
] as const;

export async function openWriteLog(file: string): Promise<WriteLog> {
  const database = openDatabase(file);
  await perform(() => database.exec("create table if not exists test_writes (line text not null)"));
  for (const { act, event, row } of acts) {
    const body = `insert into test_writes values ('${act} ' || ${row}.path);`;
    const trigger = `trigger if not exists test_${act} after ${event} on links`;
    await perform(() => database.exec(`create ${trigger} begin ${body} end`));
  }
  return {
    take: async () => {
      // One transaction, so that no line is deleted before it is returned.
      const rows = await perform(() => {
        return database.prepare(takeLines).all() as readonly { rowid: number; line: string }[];
      });
      return rows.toSorted((one, other) => one.rowid - other.rowid).map(({ line }) => line);
    },
    count: async () => {
      const rows = await perform(() => database.prepare(countLines).all());
      return (rows as readonly { count: number }[])[0]?.count ?? 0;
    },
    close: () => database.close(),
  };
}

const takeLines = "delete from test_writes returning rowid, line";
const countLines = "select count(*) as count from test_writes";

/** Retries work while another process has the file locked. */
function perform<Result>(work: () => Result): Promise<Result> {
  return retryWhileBusy(work);
}
