import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import type { Sql } from "../../src/sql/sql.ts";

/**
 * Tests that pages of the file are cached in memory. The tests change a page directly in the file,
 * because reading a cached page then still returns the old text.
 */

type Tables = { notes: { id: number; text: string } };

let folder: string;
let path: string;
let store: Sql<Tables>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "waypost-pages-"));
  path = join(folder, "notes.db");
  store = await open();
  await store.write(async (db) => {
    await sql`create table notes (id integer primary key, text text not null)`.execute(db);
    // Make each text fill a page.
    const long = " and so on".repeat(300);
    await db
      .insertInto("notes")
      .values({ id: 1, text: `written${long}` })
      .execute();
    await db
      .insertInto("notes")
      .values({ id: 2, text: `beside it${long}` })
      .execute();
  });
  // Closing the store copies the log into the file.
  await store.close();
  store = await open();
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a cached page is not read again after a write of the same process", async () => {
  expect(await readFirst()).toMatch(/^written/);
  changeInFile("written", "changed");
  for (const text of ["once", "twice"]) {
    await store.write((db) =>
      db.updateTable("notes").set({ text }).where("id", "=", 2).executeTakeFirst(),
    );
    expect(await readFirst()).toMatch(/^written/);
  }
});

test("a page is read again after another process has written", async () => {
  expect(await readFirst()).toMatch(/^written/);
  changeInFile("written", "changed");
  const other = openDatabase(path);
  other.exec("update notes set text = 'by another process' where id = 2");
  other.close();
  expect(await readFirst()).toMatch(/^changed/);
});

function open(): Promise<Sql<Tables>> {
  return openSqlite<Tables>(path, { applicationId: 0x6e6f7465 });
}

async function readFirst(): Promise<string | undefined> {
  const row = await store.db.selectFrom("notes").select("text").where("id", "=", 1).execute();
  return row[0]?.text;
}

/** Replaces the text in all places, including freed pages. */
function changeInFile(from: string, to: string): void {
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf(from); at >= 0; at = bytes.indexOf(from, at)) bytes.write(to, at);
  writeFileSync(path, bytes);
  // A new connection without a cache reads the changed text.
  const other = openDatabase(path);
  const rows = other.prepare("select text from notes where id = 1").all();
  other.close();
  expect(rows).toEqual([{ text: expect.stringMatching(`^${to}`) }]);
}
