import { renameSync } from "node:fs";
import { join } from "node:path";
import { sql, type Kysely } from "kysely";
import { describe, expect, test } from "vitest";
import { StoreBusy } from "../../src/sql/faults.ts";
import { openSqlite } from "../../src/sql/sqlite.ts";
import type { Sql } from "../../src/sql/sql.ts";
import { countForEver } from "../support/store-place.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { openForEach } from "../support/open-for.ts";
import { createCaller, staying } from "../support/rows.ts";

/** Tests long reads in a separate thread: their queue, their end and their view of the data. */

type Tables = { readonly notes: { readonly text: string } };

let folder: string;
let file: string;
let store: Sql<Tables>;
openForEach(createEmptyFolder, async ({ path }, keep) => {
  folder = path;
  file = join(folder, "notes.db");
  store = keep(await open());
  await store.write((db) => sql`create table notes (text text)`.execute(db));
});

const open = () => openSqlite<Tables>(file, { applicationId: 1 });
const write = (to: Sql<Tables>, text: string) =>
  to.write((db) => db.insertInto("notes").values({ text }).execute());
const listNotes = async (db: Kysely<Tables>) =>
  (await db.selectFrom("notes").select("text").execute()).map(({ text }) => text);

async function startEndlessRead(line = "one") {
  const { signal, leave } = createCaller();
  let end = Promise.resolve();
  await new Promise<void>((begun) => {
    const count = async (db: Kysely<Tables>) => {
      await listNotes(db);
      begun();
      return countForEver(db);
    };
    end = expect(store.readLong(count, { signal, line })).rejects.toBeInstanceOf(StoreBusy);
  });
  return { leave, end };
}

test("reads and writes that start during a long read do not wait for the long read", async () => {
  const { leave, end } = await startEndlessRead();
  await write(store, "beside");
  expect(await listNotes(store.db)).toEqual(["beside"]);
  leave();
  await end;
});

test("checkpointing a large log does not make writes wait for a long read", async () => {
  const first = await startEndlessRead("one");
  // Write more than the log's limit, with enough commits to start a checkpoint.
  await store.write((db) => sql`insert into notes values (zeroblob(45000000))`.execute(db));
  for (let turn = 1; turn <= 50; turn += 1) await write(store, `${turn}`);
  const begun = startEndlessRead("two");
  first.leave();
  await first.end;
  const second = await begun;
  await write(store, "beside");
  second.leave();
  await second.end;
  expect(await listNotes(store.db)).toContain("beside");
});

test("a store can be closed while its checkpoint waits for a long read", async () => {
  const { end } = await startEndlessRead();
  for (let turn = 1; turn <= 50; turn += 1) await write(store, `${turn}`);
  await store.close();
  await end;
});

describe("a long read whose caller disconnects", () => {
  test("stops, and the next read starts", async () => {
    const { leave, end } = await startEndlessRead();
    const next = store.readLong(listNotes, { signal: staying, line: "one" });
    leave();
    await end;
    expect(await next).toEqual([]);
  });

  test("never starts if it is still queued", async () => {
    const first = await startEndlessRead();
    const { signal, leave } = createCaller();
    const waiting = store.readLong(() => Promise.reject(new Error("it was read")), {
      signal,
      line: "one",
    });
    leave();
    await expect(waiting).rejects.toBeInstanceOf(StoreBusy);
    first.leave();
    await first.end;
  });
});

describe("the queue of long reads", () => {
  test("holds up to 100 reads per project, and projects take turns", async () => {
    const { leave, end } = await startEndlessRead("long");
    const answered: string[] = [];
    const read = async (line: string) => {
      await store.readLong(listNotes, { signal: staying, line });
      answered.push(line);
    };
    const reads = Array.from({ length: 100 }, () => read("long"));
    await expect(read("long")).rejects.toBeInstanceOf(StoreBusy);
    reads.push(read("short"));
    leave();
    await Promise.all([end, ...reads]);
    expect(answered.indexOf("short")).toBe(1);
  });
});

test("a long read uses a new thread if the previous thread crashed", async () => {
  const options = { signal: staying, line: "one" };
  renameSync(folder, `${folder}-away`);
  const failed = store.readLong(listNotes, options);
  await expect(failed).rejects.toThrow("the thread that reads has ended");
  renameSync(`${folder}-away`, folder);
  expect(await store.readLong(listNotes, options)).toEqual([]);
});

test("closing the store ends the running long read and all queued ones", async () => {
  const { end } = await startEndlessRead();
  const waiting = store.readLong(listNotes, { signal: staying, line: "one" });
  const refused = expect(waiting).rejects.toBeInstanceOf(StoreBusy);
  await store.close();
  await Promise.all([end, refused]);
});
