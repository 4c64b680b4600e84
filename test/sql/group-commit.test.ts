import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openDatabase, type Database } from "../../src/sql/engine.ts";
import { StoreBusy } from "../../src/sql/faults.ts";
import { createGroupCommit } from "../../src/sql/group-commit.ts";
import { memoryFolder } from "../support/folders.ts";
import { createCaller } from "../support/rows.ts";

/** Which writers share a transaction, in which order they come, and what each of them is told. */

describe("writers of the same moment", () => {
  test("share one commit, and each sees what those before it wrote", async () => {
    const { groups, insert, listSeen } = openGroups();
    const counts = await Promise.all(
      ["a", "b", "c"].map((name) =>
        groups.write(async () => {
          insert(name);
          return listSeen().length;
        }),
      ),
    );
    expect(counts).toEqual([1, 2, 3]);
    expect(groups.countCommits()).toBe(1);
  });

  test("are each answered once it is on the disk, the ones that failed as well", async () => {
    const { groups, insert, listCommitted, steps } = openGroups();
    const told: string[] = [];
    const tell = (name: string) => () => told.push(`${name}: ${steps.join(" ")}`);
    const written = groups.write(async () => insert("a")).then(tell("a"));
    const failed = groups
      .write(async () => {
        if (listCommitted().length === 0) throw new Error("not yet");
      })
      .catch(tell("b"));
    await Promise.all([written, failed]);
    expect(told).toEqual([
      "a: begin open keep open undo commit sync",
      "b: begin open keep open undo commit sync",
    ]);
  });

  test("wait for the disk while the next ones write, and are told in their order", async () => {
    const { groups, insert, listCommitted, holdDisk } = openGroups();
    const told: string[] = [];
    const write = (name: string) =>
      groups.write(async () => insert(name)).then(() => told.push(name));
    const release = holdDisk();
    const first = write("a");
    while (listCommitted().length < 1) await setImmediate();
    const second = write("b");
    while (listCommitted().length < 2) await setImmediate();
    expect(told).toEqual([]);
    release();
    await Promise.all([first, second]);
    expect(told).toEqual(["a", "b"]);
  });

  test("are all told of a disk that fails, for nobody knows what it has kept", async () => {
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

  test("are told before the store is closed", async () => {
    const { groups, insert, holdDisk } = openGroups();
    const order: string[] = [];
    const release = holdDisk();
    const writing = groups.write(async () => insert("a")).then(() => order.push("told"));
    const closing = groups.finish().then(() => order.push("closed"));
    await setImmediate();
    release();
    await Promise.all([writing, closing]);
    expect(order).toEqual(["told", "closed"]);
  });

  test("find their commit counted when they are told of it", async () => {
    const { groups, insert } = openGroups();
    const written = groups.write(async () => insert("a"));
    expect(await written.then(() => groups.countCommits())).toBe(1);
  });

  test("lose nothing where one of them fails, and nothing of that one stays", async () => {
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

  test("write nothing at all where every one of them fails", async () => {
    const { groups, insert, listCommitted, steps } = openGroups();
    const refuse = async () => {
      insert("a");
      throw new Error("it is refused");
    };
    await Promise.allSettled([groups.write(refuse), groups.write(refuse)]);
    expect(steps.slice(-2)).toEqual(["rollback", "sync"]);
    expect(groups.countCommits()).toBe(0);
    expect(listCommitted()).toEqual([]);
  });

  test("are all told of a commit that fails, and the next group is not", async () => {
    const { groups, insert, listCommitted, faults } = openGroups();
    const broken = new Error("the disk is gone");
    faults.commit = broken;
    const outcomes = await Promise.allSettled([
      groups.write(async () => insert("a")),
      groups.write(() => Promise.reject(new Error("refused for what another one wrote"))),
      groups.write(async () => insert("b")),
    ]);
    const rejected = { status: "rejected", reason: broken };
    expect(outcomes).toEqual([rejected, rejected, rejected]);
    faults.commit = undefined;
    await groups.write(async () => insert("c"));
    expect(listCommitted()).toEqual(["c"]);
  });

  test("fail together where one of them fills the store, and the next group does not", async () => {
    const { groups, insert, listCommitted, writer } = openGroups();
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
    expect(groups.countCommits()).toBe(1);
  });
});

describe("turns", () => {
  test("come in the order they were asked for, and never beside each other", async () => {
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

  test("that nobody waits for any more are passed over; one that has begun ends well", async () => {
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

  test("of those in a hurry come before patient ones, and patient ones share theirs", async () => {
    const { groups, insert, listCommitted } = openGroups();
    const write = (name: string, isPatient: boolean) =>
      groups.write(async () => insert(name), { isPatient });
    await Promise.all([
      write("patient 1", true),
      write("hurried 1", false),
      write("patient 2", true),
      write("hurried 2", false),
    ]);
    expect(listCommitted()).toEqual(["hurried 1", "hurried 2", "patient 1", "patient 2"]);
    expect(groups.countCommits()).toBe(2);
  });

  test("of patient ones come after four groups of others, however many there are", async () => {
    const { groups, steps } = openGroups({ work_ms: 10 });
    const done: string[] = [];
    const hurried = Array.from({ length: 12 }, (_, turn) =>
      groups.write(async () => void done.push(`hurried ${turn}`)),
    );
    const patient = Array.from({ length: 2 }, (_, turn) =>
      groups.write(async () => void done.push(`patient ${turn}`), { isPatient: true }),
    );
    await Promise.all([...hurried, ...patient]);
    // Each of them takes so long that it is a group of its own.
    expect(steps.filter((step) => step === "commit")).toHaveLength(14);
    expect(done.indexOf("patient 0")).toBe(4);
    expect(done.indexOf("patient 1")).toBe(9);
  });

  test("let everything else of the process happen after two milliseconds of them", async () => {
    const { groups } = openGroups({ work_ms: 1 });
    const order: string[] = [];
    const ticking = setImmediate().then(async () => {
      // The group's first turn; the second is after two writes.
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
    expect(groups.countCommits()).toBe(1);
  });

  test("leave other processes an opening after a long run, and only then", async () => {
    const openings: number[] = [];
    const { groups, time } = openGroups({ work_ms: 3, openings });
    await Promise.all(Array.from({ length: 10 }, () => groups.write(rest)));
    // Three turns are nine milliseconds, and nobody joins so old a group.
    expect(openings).toEqual([9, 18, 27]);
    time.now += 100;
    await groups.write(rest);
    expect(openings).toHaveLength(3);
  });

  test("that wait for another process's lock are all told that it was not free", async () => {
    const { groups, insert, listCommitted, faults } = openGroups();
    faults.begin = new StoreBusy("the store is busy");
    const busy = { status: "rejected", reason: faults.begin };
    const waited = [groups.write(async () => insert("a")), groups.write(async () => insert("b"))];
    expect(await Promise.allSettled(waited)).toEqual([busy, busy]);
    faults.begin = undefined;
    await groups.write(async () => insert("c"));
    expect(listCommitted()).toEqual(["c"]);
  });

  test("that wait when the store closes are served, and who comes later is refused", async () => {
    const { groups, insert, listCommitted } = openGroups();
    const write = (name: string) => groups.write(async () => insert(name));
    const waiting = [write("a"), write("b")];
    const goesOn = write("c").then(() => write("late"));
    const finished = groups.finish();
    await expect(goesOn).rejects.toBeInstanceOf(StoreBusy);
    await Promise.all([...waiting, finished]);
    expect(listCommitted()).toEqual(["a", "b", "c"]);
  });

  test("are not waited for by a group that everybody has left", async () => {
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

type Given = { readonly work_ms?: number; readonly openings?: number[] };

const names: Readonly<Record<string, string>> = {
  "SAVEPOINT one": "open",
  "RELEASE one": "keep",
  "ROLLBACK TO one; RELEASE one": "undo",
  COMMIT: "commit",
  ROLLBACK: "rollback",
};

/** Groups on a real file, whose steps are noted, and whose time passes with each writer's work. */
function openGroups({ work_ms = 0, openings = [] }: Given = {}) {
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
    commit?: Error | undefined;
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
        if (step === "commit" && faults.commit !== undefined) throw faults.commit;
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
    /** Nothing is on the disk before what it answers is called. */
    holdDisk: () => {
      const order: (() => void)[] = [];
      disk = new Promise((resolve) => order.push(resolve));
      return () => order[0]?.();
    },
    insert: (name: string) => void writer.prepare("INSERT INTO names VALUES (?)").run(name),
    listSeen: () => listNames(writer),
    listCommitted: () => listNames(reader),
  };
}

function listNames(database: Database): readonly unknown[] {
  const rows = database.prepare("SELECT name FROM names ORDER BY rowid").all();
  return rows.map((row) => Object.values(Object(row))[0]);
}

const rest = () => Promise.resolve();
