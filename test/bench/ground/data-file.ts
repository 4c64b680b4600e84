import { closeSync, cpSync, fsyncSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Build } from "../builds.ts";
import { openDatabase } from "../../../src/sql/engine.ts";
import { createStatementRunner } from "../../../src/sql/run-statements.ts";
import { openKysely } from "../../../src/sql/open-kysely.ts";
import type { Tables } from "../../../src/store/tables.ts";
import type { Db } from "../../../src/store/tenant.ts";
import { makeFolder, type Folder } from "../leftovers.ts";
import { serve } from "../servers/http-server.ts";

/**
 * A data folder that the measured build made, and the bench's own way into its file: nothing here
 * migrates it, so that an earlier commit finds the tables that it knows.
 */
export type DataFile = {
  readonly folder: string;
  readonly path: string;
  readonly db: Db;
  /** One at a time. */
  readonly write: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

const fileName = "waypost.db";

export async function makeDataFile(build: Build): Promise<DataFile> {
  return openOwned(await makeDataFolder(build));
}

/** Another folder with the same in it; neither has anything left to be written. */
export function copyDataFile(source: string): DataFile {
  const folder = makeFolder();
  cpSync(source, folder.path, { recursive: true });
  for (const path of [source, folder.path]) syncFile(join(path, fileName));
  return openOwned(folder);
}

/** Else the machine would write it while something is measured, and every commit would wait. */
function syncFile(path: string): void {
  const file = openSync(path, "r+");
  fsyncSync(file);
  closeSync(file);
}

/** All that a build's tables are, as text. */
export function readSchema(folder: string): string {
  const database = openDatabase(join(folder, fileName));
  const tables = database.prepare("select name, sql from sqlite_master order by name").all();
  const version = database.prepare("pragma user_version").all();
  database.close();
  return JSON.stringify([version, tables]);
}

/** Its folder ends with it. */
function openOwned(folder: Folder): DataFile {
  const file = openDataFile(folder.path);
  return {
    ...file,
    [Symbol.asyncDispose]: async () => {
      await file[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

export async function makeDataFolder(build: Build): Promise<Folder> {
  const folder = makeFolder();
  const server = await serve(build, folder.path);
  await server[Symbol.asyncDispose]();
  return folder;
}

export function openDataFile(folder: string): DataFile {
  const path = join(folder, fileName);
  const database = openDatabase(path);
  // The server that is measured may be writing.
  database.exec("PRAGMA busy_timeout = 10000");
  const db = openKysely<Tables>("sqlite", createStatementRunner(() => database).run);
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
