import { openDatabase } from "../../../src/sql/engine.ts";
import { retryWhileBusy } from "../../../src/sql/busy-lock.ts";

/**
 * What a service's own database did to its links, one line for each time that it did: the engine
 * writes it down in the same transaction, whoever asked and whether or not they lived to know.
 */
export type WriteLog = {
  /** "create a", "update b", "delete c", in their order; told once. */
  readonly take: () => Promise<readonly string[]>;
  /** How many were not told yet. */
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
      // In one transaction, so that nothing is forgotten that was not told.
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

/** Others have the file open as well. */
function perform<Result>(work: () => Result): Promise<Result> {
  return retryWhileBusy(work);
}
