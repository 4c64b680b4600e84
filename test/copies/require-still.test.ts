import { join } from "node:path";
import { sql } from "kysely";
import { expect, test } from "vitest";
import { requireStill } from "../../src/commands/copies/require-still.ts";
import type { CopiedDatabase } from "../../src/copies/copied-database.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import { storeCopy } from "../../src/store/copied-tables.ts";
import { createFolder } from "../support/command.ts";
import { createGate } from "../support/gate.ts";

/** A store that is moved is written to by nobody; `postgres-processes` tells it of a database. */

test("of a file, what another one has only begun to write is waited for, and seen", async () => {
  await using folder = await createFolder();
  const open = () => openSqlite<object>(join(folder.path, "..", "x.db"), { applicationId: 1 });
  const [copied, written] = [await open(), await open()];
  await written.write((db) => sql`create table things (id integer)`.execute(db));
  const database: CopiedDatabase = { name: "store", copied: storeCopy, sql: copied };
  const { requireUnchanged } = await requireStill([database]);
  await requireUnchanged();
  const [isBegun, goesOn] = [createGate(), createGate()];
  const writing = written.write(async (db) => {
    await sql`insert into things values (1)`.execute(db);
    isBegun.open();
    await goesOn.opened;
  });
  await isBegun.opened;
  const refused = expect(requireUnchanged()).rejects.toThrow(
    "another process wrote to the old data",
  );
  goesOn.open();
  await Promise.all([writing, refused]);
  await Promise.all([copied.close(), written.close()]);
});
