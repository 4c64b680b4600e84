import { openPostgres } from "../../../src/sql/postgres.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { startPostgres } from "../../support/postgres.ts";
import { makeFolder } from "../leftovers.ts";
import { serve } from "../servers/http-server.ts";
import type { Access } from "./data-file.ts";

/** A separate PostgreSQL server with a store that the built command created. */
type PostgresStore = Access & {
  readonly words: readonly string[];
  /** The data folder that Waypost needs besides the database. */
  readonly folder: string;
  readonly [Symbol.asyncDispose]: () => Promise<void>;
};

export async function makePostgresStore(): Promise<PostgresStore> {
  const server = await startPostgres();
  const folder = makeFolder();
  const words = ["--database-url", server.url];
  await (await serve(folder.path, words))[Symbol.asyncDispose]();
  const { db, write, close } = await openPostgres<Tables>(server.url);
  return {
    words,
    folder: folder.path,
    db,
    write,
    [Symbol.asyncDispose]: async () => {
      await close();
      await server.stop();
      folder[Symbol.dispose]();
    },
  };
}
