import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { createServed, run } from "../support/command.ts";

/** Data that another version of Waypost wrote is refused, and no byte of it changes. */

const shapes = [
  ["waypost.db", "UPDATE migrations SET name = '001-init'"],
  ["waypost.db", "INSERT INTO migrations VALUES ('999-later')"],
  ["waypost.db", "DROP TABLE migrations"],
  ["state.db", "UPDATE state_migrations SET name = '001-init'"],
  ["state.db", "ALTER TABLE state_migrations RENAME TO migrations"],
] as const;

const readFiles = async (folder: string) => {
  const names = (await readdir(folder)).filter((name) => /\.db$|^owner/.test(name));
  const read = async (name: string) => [name, (await readFile(join(folder, name))).toString("hex")];
  return Object.fromEntries(await Promise.all(names.map(read)));
};

test.each(shapes)("every command refuses a folder after %s: %s", async (name, statement) => {
  await using served = await createServed();
  const { folder, serving } = served;
  await serving.stop();
  await run(["jobs", "--data", folder.path]);
  const database = openDatabase(join(folder.path, name));
  database.exec(statement);
  database.close();
  const before = await readFiles(folder.path);
  expect(Object.keys(before)).toEqual(["owner.key", "state.db", "waypost.db"]);
  const commands = [["serve", "--port", "0"], ["backup", join(folder.path, "../b")], ["doctor"]];
  for (const words of commands) {
    const { code, stdout, stderr } = await run([...words, "--data", folder.path]);
    expect([words, code]).toEqual([words, words[0] === "doctor" ? 1 : 2]);
    expect(stdout + stderr).toContain(
      "The data was written by another version of Waypost, which this version cannot read: use " +
        "that version, or choose an empty folder or database.\n",
    );
    expect(await readFiles(folder.path)).toEqual(before);
  }
});
