import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { assert, asyncProperty, array, boolean, constantFrom, nat, record } from "fast-check";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { createGroupCommit } from "../../src/sql/group-commit.ts";
import { memoryFolder } from "../support/folders.ts";

/** Tests random failures at random steps. */

const kinds = ["writes", "refuses", "throws at once", "loses all", "has left", "leaves"] as const;
const failing = ["BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK TO", "COMMIT"] as const;

const someWriters = array(
  record({
    kind: constantFrom("writes", ...kinds),
    isPatient: boolean(),
    pauses: nat(2),
    comesAfter: nat(3),
  }),
  { minLength: 1, maxLength: 12 },
);
type WriterKind = { readonly kind: (typeof kinds)[number]; readonly pauses: number };
/** The steps that fail. `turn` is the number of earlier runs of the same step. */
const someFaults = array(record({ step: constantFrom(...failing), turn: nat(8) }), {
  maxLength: 6,
});

test("after a failure, every write reports its true outcome and later writes succeed", async () => {
  const property = asyncProperty(someWriters, someFaults, async (writers, faults) => {
    using file = openFile();
    const due = [...faults];
    const exec = failAt(file.exec, due);
    const groups = createGroupCommit({
      begin: async () => exec("BEGIN IMMEDIATE"),
      exec,
      sync: () => rest(1),
    });
    const writing = writers.map(async ({ isPatient, comesAfter, ...given }, name) => {
      await rest(comesAfter);
      const leaver = new AbortController();
      if (given.kind === "has left") leaver.abort();
      const work = () => file.write(name, given, leaver);
      return groups.write(work, { isPatient, signal: { hasLeft: () => leaver.signal.aborted } });
    });
    const settled = await Promise.allSettled(writing);
    const kept = settled.flatMap(({ status }, name) => (status === "fulfilled" ? [name] : []));
    expect(file.list()).toEqual(kept);
    for (const { kind } of kept.map((name) => writers[name] ?? expect.fail())) {
      expect(["writes", "leaves"]).toContain(kind);
    }
    due.length = 0;
    await groups.write(() => file.write(99, { kind: "writes", pauses: 0 }, new AbortController()));
    expect(file.list()).toEqual([...kept, 99]);
    await groups.finish();
  });
  await assert(property, { numRuns: 150 });
});

type Exec = (statement: string) => void;

function failAt(
  exec: Exec,
  faults: readonly { readonly step: (typeof failing)[number]; readonly turn: number }[],
): Exec {
  const taken = new Map<string, number>();
  return (statement) => {
    const step = failing.find((start) => statement.startsWith(start)) ?? "";
    const turn = taken.get(step) ?? 0;
    taken.set(step, turn + 1);
    const isDue = faults.some((fault) => fault.step === step && fault.turn === turn);
    if (isDue) throw new Error(`${step} failed`);
    exec(statement);
  };
}

function openFile() {
  const folder = mkdtempSync(join(memoryFolder, "waypost-faults-"));
  const [writer, reader] = [1, 2].map(() => openDatabase(join(folder, "groups.db")));
  if (writer === undefined || reader === undefined) throw new Error("no database was opened");
  writer.exec("PRAGMA journal_mode = WAL; CREATE TABLE names (name INTEGER)");
  return {
    exec: (statement: string) => writer.exec(statement),
    write: (name: number, { kind, pauses }: WriterKind, leaver: AbortController) => {
      if (kind === "throws at once") throw new Error("it throws at once");
      writer.prepare("INSERT INTO names VALUES (?)").run(name);
      return rest(pauses).then(() => {
        if (kind === "leaves") leaver.abort();
        if (kind === "loses all") writer.exec("ROLLBACK");
        if (kind !== "writes" && kind !== "leaves") throw new Error("it is refused");
      });
    },
    list: () =>
      reader
        .prepare("SELECT name FROM names ORDER BY name")
        .all()
        .map((row) => Object.values(Object(row))[0]),
    [Symbol.dispose]: () => {
      writer.close();
      reader.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function rest(pauses: number): Promise<void> {
  for (let pause = 0; pause < pauses; pause += 1) await setImmediate();
}
