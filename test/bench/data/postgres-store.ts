import { openPostgres } from "../../../src/sql/postgres.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { startPostgres } from "../../support/postgres.ts";
import { makeFolder } from "../leftovers.ts";
import { serveStore } from "../servers/http-server.ts";
import type { BenchStore } from "./data-file.ts";

/** A store on a PostgreSQL server of its own. */
export async function makePostgresStore(): Promise<BenchStore> {
  const server = await startPostgres();
  const folder = makeFolder();
  const place = { folder: folder.path, databaseUrl: server.url };
  await (await serveStore(place))[Symbol.asyncDispose]();
  const { db, write, close } = await openPostgres<Tables>(server.url);
  return {
    ...place,
    db,
    write,
    [Symbol.asyncDispose]: async () => {
      await close();
      await server.stop();
      folder[Symbol.dispose]();
    },
  };
}
