import { afterEach, beforeEach, expect, test } from "vitest";
import { withDatabases } from "../../src/compose/copied-databases.ts";
import { prepareDataFolder } from "../../src/compose/data-folder.ts";
import type { CopiedDatabase } from "../../src/copies/copied-database.ts";
import { claimDatabase, type Filling } from "../../src/copies/fill-database.ts";
import { listTables } from "../../src/sql/list-tables.ts";
import { createFolder, type Folder } from "../support/command.ts";

/** A copy owns the database that it fills for 15 seconds after each batch, and no longer. */

const lease_ms = 15_000;
const noDatabase = { database_url: undefined, database_url_file: undefined };

let folder: Folder;
let now: number;
beforeEach(async () => {
  folder = await createFolder();
  now = 1_000_000;
  prepareDataFolder(folder.path);
});
afterEach(() => folder[Symbol.asyncDispose]());

function inDatabase(work: (database: CopiedDatabase) => Promise<void>): Promise<void> {
  return withDatabases({ data: folder.path, secrets: noDatabase }, ["state"], ([database]) => {
    if (database === undefined) throw new Error("there is no database");
    return work(database);
  });
}

const claim = (database: CopiedDatabase, id: string) =>
  claimDatabase(database, { id, now: () => now }, false);
const insert = (filling: Filling) => filling.insert("plans", ["id"], []);

test("a copy keeps its claim for 15 seconds after each batch", async () => {
  await inDatabase(async (database) => {
    const filling = await claim(database, "first");
    for (let batch = 0; batch < 3; batch += 1) {
      now += lease_ms - 1;
      await expect(claim(database, "second")).rejects.toThrow("try again in 1 seconds");
      await (batch === 1 ? filling.hold() : insert(filling));
    }
    now += lease_ms;
    await claim(database, "second");
  });
});

test("a copy that lost its claim fails, and leaves the next one alone", async () => {
  await inDatabase(async (database) => {
    const lost = await claim(database, "first");
    await lost.makeTables();
    now += lease_ms;
    const next = await claim(database, "second");
    const tables = await listTables(database.sql.db);
    let undone = 0;
    for (const write of [
      () => lost.makeTables(),
      () => insert(lost),
      () => lost.hold(),
      () => lost.finish(),
      () => lost.abandon(() => (undone += 1)),
    ]) {
      await expect(write()).rejects.toThrow("another process is copying to the same place");
    }
    expect(undone).toBe(0);
    // No table was made or changed under the next one's hands.
    expect(await listTables(database.sql.db)).toEqual(tables);
    await next.makeTables();
    await insert(next);
    await next.finish();
    await expect(claim(database, "third")).rejects.toThrow(
      "the target already contains Waypost data",
    );
  });
});
