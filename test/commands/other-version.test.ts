import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { createFolder, createServed, run, runProcess } from "../support/command.ts";

/** Data that another version of Waypost wrote is refused and not changed. */

const shapes = [
  ["waypost.db", "UPDATE waypost_migrations SET name = '001-init'"],
  ["waypost.db", "INSERT INTO waypost_migrations VALUES ('999-later')"],
  ["waypost.db", "DROP TABLE waypost_migrations"],
  ["state.db", "UPDATE state_migrations SET name = '001-init'"],
  ["state.db", "ALTER TABLE state_migrations RENAME TO waypost_migrations"],
] as const;

const logged = shapes.filter(([, statement]) => statement.startsWith("UPDATE"));

const refusal =
  "This version of Waypost cannot read the data, because another version wrote it. Use that " +
  "version, or choose an empty folder or database.\n";

/** Returns every file except the index of the log, which SQLite rebuilds. */
const readFiles = async (folder: string) => {
  const names = (await readdir(folder)).filter((name) => !/^compiled-|-shm$/.test(name));
  const read = async (name: string) => {
    const bytes = await readFile(join(folder, name));
    return [name, `${bytes.length} ${createHash("sha256").update(bytes).digest("hex")}`];
  };
  return Object.fromEntries(await Promise.all(names.map(read)));
};

const expectRefused = async (folder: string) => {
  const before = await readFiles(folder);
  const commands = [["serve", "--port", "0"], ["backup", join(folder, "../b")], ["doctor"]];
  for (const words of commands) {
    const { code, stdout, stderr } = await run([...words, "--data", folder]);
    expect([words, code]).toEqual([words, words[0] === "doctor" ? 1 : 2]);
    expect(stdout + stderr).toContain(refusal);
    expect(await readFiles(folder)).toEqual(before);
  }
};

test.each(shapes)(
  "every command refuses data from another Waypost version (simulated in %s: %s)",
  async (name, statement) => {
    await using folder = await createFolder();
    expect(await run(["keys", "create", "--data", folder.path])).toMatchObject({ code: 0 });
    const database = openDatabase(join(folder.path, name));
    database.exec(statement);
    database.close();
    const names = Object.keys(await readFiles(folder.path));
    expect(names).toEqual(expect.arrayContaining(["owner.key", "state.db", "waypost.db"]));
    await expectRefused(folder.path);
  },
);

test.each(logged)(
  "a killed process's write-ahead log is not changed by another Waypost version (%s: %s)",
  async (name, statement) => {
    await using served = await createServed();
    await using killed = await createFolder();
    const { folder, serving } = served;
    await run(["jobs", "--data", folder.path]);
    const database = openDatabase(join(folder.path, name));
    database.exec(statement);
    await serving.stop("SIGKILL");
    // Closing this connection would empty the log, so the files are copied first.
    await mkdir(killed.path, { mode: 0o700 });
    for (const file of await readdir(folder.path)) {
      await copyFile(join(folder.path, file), join(killed.path, file));
    }
    database.close();
    expect((await readFiles(killed.path))[`${name}-wal`]).not.toMatch(/^0 /);
    const before = await readFiles(killed.path);
    await expectRefused(killed.path);
    const to = `sqlite:${join(killed.path, "../other")}`;
    const { code, stderr } = await run(["migrate", "--to", to, "--data", killed.path]);
    expect([code, stderr]).toEqual([2, `waypost: ${refusal}`]);
    expect(await readFiles(killed.path)).toEqual(before);
  },
);

test("no command writes to a data folder with only an older version's state.db", async () => {
  await using folder = await createFolder();
  await using other = await createFolder();
  expect(await run(["keys", "create", "--data", folder.path])).toMatchObject({ code: 0 });
  const backup = join(folder.path, "../good.waypost");
  expect(await run(["backup", backup, "--data", folder.path])).toMatchObject({ code: 0 });
  expect(await runProcess(["keys", "create", "--data", other.path])).toMatchObject({ code: 0 });
  for (const name of await readdir(folder.path)) {
    if (!name.startsWith("state.db")) await rm(join(folder.path, name));
  }
  const database = openDatabase(join(folder.path, "state.db"));
  database.exec("UPDATE state_migrations SET name = '001-init'");
  database.close();
  const before = await readFiles(folder.path);
  for (const words of [["serve", "--port", "0"], ["stdio"], ["keys", "create"]]) {
    const { code, stderr } = await run([...words, "--data", folder.path], { input: "" });
    expect([code, stderr]).toEqual([2, `waypost: ${refusal}`]);
    expect(await readFiles(folder.path)).toEqual(before);
  }
  const to = `sqlite:${folder.path}`;
  for (const words of [
    ["restore", backup, "--data", folder.path],
    ["migrate", "--to", to, "--data", other.path],
  ]) {
    const { code, stderr } = await run(words);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('is not empty: it contains "state.db"'),
    ]);
    expect(await readFiles(folder.path)).toEqual(before);
  }
  const doctor = await run(["doctor", "--data", folder.path]);
  expect([doctor.code, doctor.stdout]).toEqual([1, expect.stringContaining(refusal)]);
});
