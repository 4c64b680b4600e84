import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openDatabase, type Database } from "../../src/sql/engine.ts";
import { StoreBusy } from "../../src/sql/faults.ts";
import { createGroupCommit } from "../../src/sql/group-commit.ts";
import { memoryFolder } from "../support/folders.ts";
import { createCaller } from "../support/rows.ts";

/** Tests which writes share a transaction, their order, and the outcome for each caller. */

describe("concurrent writes", () => {
  test("share a commit, and each write sees the earlier writes", async () => {
    const { groups, insert, listSeen, countCommits } = openGroups();
    const counts = await Promise.all(
      ["a", "b", "c"].map((name) =>
        groups.write(async () => {
          insert(name);
          return listSeen().length;
        }),
      ),
    );
    expect(counts).toEqual([1, 2, 3]);
    expect(countCommits()).toBe(1);
  });

  test("resolve or fail only after the commit is synced to disk", async () => {
    const { groups, insert, listCommitted, steps } = openGroups();
    const answered: string[] = [];
    const noteAnswer = (name: string) => () => answered.push(`${name}: ${steps.join(" ")}`);
    const written = groups.write(async () => insert("a")).then(noteAnswer("a"));
    const failed = groups
      .write(async () => {
        if (listCommitted().length === 0) throw new Error("not yet");
      })
      .catch(noteAnswer("b"));
    await Promise.all([written, failed]);
    expect(answered).toEqual([
      "a: begin open keep open undo commit sync",
      "b: begin open keep open undo commit sync",
    ]);
  });

  test("wait for the disk while later writes run, and resolve in order", async () => {
    const { groups, insert, listCommitted, holdDisk } = openGroups();
    const answered: string[] = [];
    const write = (name: string) =>
      groups.write(async () => insert(name)).then(() => answered.push(name));
    const release = holdDisk();
    const first = write("a");
    while (listCommitted().length < 1) await setImmediate();
    const second = write("b");
    while (listCommitted().length < 2) await setImmediate();
    expect(answered).toEqual([]);
    release();
    await Promise.all([first, second]);
    expect(answered).toEqual(["a", "b"]);
  });

  test("all fail with an unknown outcome if the disk sync fails", async () => {
    const { groups, insert, faults } = openGroups();
    const broken = new Error("the disk is gone");
    faults.sync = broken;
    const outcomes = await Promise.allSettled([
      groups.write(async () => insert("a")),
      groups.write(() => Promise.reject(new Error("refused for what another one wrote"))),
    ]);
    const rejected = { status: "rejected", reason: broken };
    expect(outcomes).toEqual([rejected, rejected]);
  });

  test("finish before the store closes", async () => {
    const { groups, insert, holdDisk } = openGroups();
    const order: string[] = [];
    const release = holdDisk();
    const writing = groups.write(async () => insert("a")).then(() => order.push("answered"));
    const closing = groups.finish().then(() => order.push("closed"));
    await setImmediate();
    release();
    await Promise.all([writing, closing]);
    expect(order).toEqual(["answered", "closed"]);
  });

  test("are saved even if another write of their group fails", async () => {
    const { groups, insert, listCommitted } = openGroups();
    const failure = new Error("it is refused");
    const outcomes = await Promise.allSettled([
      groups.write(async () => insert("a")),
      groups.write(async () => {
        insert("b");
        throw failure;
      }),
      groups.write(async () => insert("c")),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: failure });
    expect(listCommitted()).toEqual(["a", "c"]);
  });

  test("all fail if one of them fills the database, and the next group succeeds", async () => {
    const { groups, insert, listCommitted, writer, countCommits } = openGroups();
    writer.exec("PRAGMA max_page_count = 20");
    const outcomes = await Promise.allSettled([
      groups.write(async () => insert("a")),
      groups.write(() => Promise.reject(new Error("refused for what another one wrote"))),
      groups.write(async () => insert("b".repeat(200_000))),
    ]);
    const full = { status: "rejected", reason: { message: "database or disk is full" } };
    expect(outcomes).toMatchObject([full, full, full]);
    await groups.write(async () => insert("c"));
    expect(listCommitted()).toEqual(["c"]);
    expect(countCommits()).toBe(1);
  });
});

describe("group commit", () => {
  test("runs writes one at a time in the order of the calls", async () => {
    const { groups } = openGroups();
    const steps: string[] = [];
    const pauses = [5, 0, 1, 0, 3];
    const work = async (turn: number, count: number) => {
      steps.push(`turn ${turn} begins`);
      for (let pause = 0; pause < count; pause += 1) await setImmediate();
      steps.push(`turn ${turn} ends`);
      if (count === 0) throw new Error(`turn ${turn}`);
    };
    const taken = pauses.map((count, turn) => groups.write(() => work(turn, count)));
    await Promise.allSettled(taken);
    expect(steps).toEqual(
      pauses.flatMap((_, turn) => [`turn ${turn} begins`, `turn ${turn} ends`]),
    );
  });

  test("skips writes whose caller disconnected but finishes a write that has started", async () => {
    const { groups, insert, listCommitted } = openGroups();
    const { signal, leave } = createCaller();
    const first = groups.write(
      async () => {
        leave();
        await setImmediate();
        insert("first");
      },
      { signal },
    );
    const second = groups.write(async () => insert("second"), { signal });
    const third = groups.write(async () => insert("third"));
    await expect(second).rejects.toBeInstanceOf(StoreBusy);
    await Promise.all([first, third]);
    expect(listCommitted()).toEqual(["first", "third"]);
  });

  test("runs normal writes before low-priority writes and commits each kind together", async () => {
    const { groups, insert, listCommitted, countCommits } = openGroups();
    const write = (name: string, isPatient: boolean) =>
      groups.write(async () => insert(name), { isPatient });
    await Promise.all([
      write("patient 1", true),
      write("ordinary 1", false),
      write("patient 2", true),
      write("ordinary 2", false),
    ]);
    expect(listCommitted()).toEqual(["ordinary 1", "ordinary 2", "patient 1", "patient 2"]);
    expect(countCommits()).toBe(2);
  });

  test("runs a low-priority write after four groups even if normal writes are queued", async () => {
    const { groups, steps } = openGroups({ work_ms: 10 });
    const done: string[] = [];
    const ordinary = Array.from({ length: 12 }, (_, turn) =>
      groups.write(async () => void done.push(`ordinary ${turn}`)),
    );
    const patient = Array.from({ length: 2 }, (_, turn) =>
      groups.write(async () => void done.push(`patient ${turn}`), { isPatient: true }),
    );
    await Promise.all([...ordinary, ...patient]);
    // Each write takes so long that no other write joins its group.
    expect(steps.filter((step) => step === "commit")).toHaveLength(14);
    expect(done.indexOf("patient 0")).toBe(4);
    expect(done.indexOf("patient 1")).toBe(9);
  });

  test("lets the process do other work between long writes", async () => {
    const { groups, countCommits } = openGroups({ work_ms: 1 });
    const order: string[] = [];
    const ticking = setImmediate().then(async () => {
      // Runs once before the writes. The other rounds run after two writes.
      for (let tick = 0; tick < 4; tick += 1) {
        order.push("else");
        await setImmediate();
      }
    });
    const writes = ["a", "b", "c", "d"].map((name) =>
      groups.write(async () => void order.push(name)),
    );
    await Promise.all([...writes, ticking]);
    expect(order.join(" ")).toMatch(/a b (else )+c d/);
    expect(countCommits()).toBe(1);
  });

  test("pauses for other processes only after a long series of writes", async () => {
    const openings: number[] = [];
    const { groups, time } = openGroups({ work_ms: 3, openings });
    await Promise.all(Array.from({ length: 10 }, () => groups.write(rest)));
    // Three writes take nine milliseconds, and no write joins a group of that age.
    expect(openings).toEqual([9, 18, 27]);
    time.now += 100;
    await groups.write(rest);
    expect(openings).toHaveLength(3);
  });

  test("fails all queued writes with StoreBusy if another process holds the lock", async () => {
    const { groups, insert, listCommitted, faults } = openGroups();
    faults.begin = new StoreBusy("the store is busy");
    const busy = { status: "rejected", reason: faults.begin };
    const waited = [groups.write(async () => insert("a")), groups.write(async () => insert("b"))];
    expect(await Promise.allSettled(waited)).toEqual([busy, busy]);
    faults.begin = undefined;
    await groups.write(async () => insert("c"));
    expect(listCommitted()).toEqual(["c"]);
  });

  test("finishes queued writes when the store closes and rejects later writes", async () => {
    const { groups, insert, listCommitted } = openGroups();
    const write = (name: string) => groups.write(async () => insert(name));
    const waiting = [write("a"), write("b")];
    const later = write("c").then(() => write("late"));
    const finished = groups.finish();
    await expect(later).rejects.toBeInstanceOf(StoreBusy);
    await Promise.all([...waiting, finished]);
    expect(listCommitted()).toEqual(["a", "b", "c"]);
  });

  test("stops waiting for the lock after every caller has disconnected", async () => {
    const { groups, faults } = openGroups();
    const { signal, leave } = createCaller();
    faults.begin = new StoreBusy("the store is busy");
    const seen: boolean[] = [];
    faults.onBegin = (waiting) => {
      seen.push(waiting.hasLeft());
      leave();
      seen.push(waiting.hasLeft());
    };
    await Promise.allSettled([groups.write(async () => undefined, { signal })]);
    expect(seen).toEqual([false, true]);
  });
});

type GroupOptions = { readonly work_ms?: number; readonly openings?: number[] };

const names: Readonly<Record<string, string>> = {
  "SAVEPOINT one": "open",
  "RELEASE one": "keep",
  "ROLLBACK TO one; RELEASE one": "undo",
  COMMIT: "commit",
  ROLLBACK: "rollback",
};

/** Opens group commit on a real file. Records its steps, and advances time with each write. */
function openGroups({ work_ms = 0, openings = [] }: GroupOptions = {}) {
  const folder = mkdtempSync(join(memoryFolder, "waypost-groups-"));
  const path = join(folder, "groups.db");
  const [writer, reader] = [openDatabase(path), openDatabase(path)];
  onTestFinished(() => {
    writer.close();
    reader.close();
    rmSync(folder, { recursive: true });
  });
  writer.exec("PRAGMA journal_mode = WAL; CREATE TABLE names (name TEXT)");
  const steps: string[] = [];
  const faults: {
    begin?: Error | undefined;
    sync?: Error;
    onBegin?: (signal: { readonly hasLeft: () => boolean }) => void;
  } = {};
  const time = { now: 0 };
  let disk: Promise<void> = Promise.resolve();
  const groups = createGroupCommit(
    {
      begin: async (signal) => {
        faults.onBegin?.(signal);
        if (faults.begin !== undefined) throw faults.begin;
        steps.push("begin");
        writer.exec("BEGIN IMMEDIATE");
      },
      exec: (statement) => {
        const step = names[statement] ?? expect.fail(`${statement} has no name`);
        steps.push(step);
        if (step === "open") time.now += work_ms;
        writer.exec(statement);
      },
      sync: async () => {
        steps.push("sync");
        await disk;
        if (faults.sync !== undefined) throw faults.sync;
      },
    },
    {
      monotonic: () => time.now,
      sleep: async (milliseconds) => {
        expect(milliseconds).toBeGreaterThanOrEqual(1);
        openings.push(time.now);
      },
    },
  );
  return {
    groups,
    steps,
    faults,
    time,
    writer,
    /** Delays syncs to disk until the returned function is called. */
    holdDisk: () => {
      const order: (() => void)[] = [];
      disk = new Promise((resolve) => order.push(resolve));
      return () => order[0]?.();
    },
    insert: (name: string) => void writer.prepare("INSERT INTO names VALUES (?)").run(name),
    listSeen: () => listNames(writer),
    listCommitted: () => listNames(reader),
    countCommits: () => steps.filter((step) => step === "commit").length,
  };
}

function listNames(database: Database): readonly unknown[] {
  const rows = database.prepare("SELECT name FROM names ORDER BY rowid").all();
  return rows.map((row) => Object.values(Object(row))[0]);
}

const rest = () => Promise.resolve();
