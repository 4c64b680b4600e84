import { join } from "node:path";
import { openDatabase, createStatementRunner } from "../../../src/sql/engine.ts";
import { openKysely } from "../../../src/sql/open-kysely.ts";
import type { Db, Tables } from "../../../src/store/tables.ts";
import { makeFolder } from "../leftovers.ts";
import { serve } from "../servers/http-server.ts";

/** Direct access to the tables of a store on SQLite or PostgreSQL, without the API. */
export type Access = {
  readonly db: Db;
  /** Writes run one at a time. */
  readonly write: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
};

/** A new store that the built command created, on either engine. */
export type BenchStore = Access & {
  readonly folder: string;
  /** Set for PostgreSQL. */
  readonly databaseUrl?: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export type DataFile = BenchStore & { readonly path: string };

export async function makeDataFile(): Promise<DataFile> {
  const folder = makeFolder();
  await (await serve(folder.path))[Symbol.asyncDispose]();
  const file = openDataFile(folder.path);
  return {
    ...file,
    [Symbol.asyncDispose]: async () => {
      await file[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

export function openDataFile(folder: string): DataFile {
  const path = join(folder, "waypost.db");
  const database = openDatabase(path);
  // The measured server may be writing at the same time.
  database.exec("PRAGMA busy_timeout = 10000");
  const db = openKysely<Tables>(createStatementRunner(database));
  return {
    folder,
    path,
    db,
    write: async (work) => {
      database.exec("BEGIN IMMEDIATE");
      try {
        const result = await work(db);
        database.exec("COMMIT");
        return result;
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    [Symbol.asyncDispose]: async () => {
      await db.destroy();
      database.close();
    },
  };
}
