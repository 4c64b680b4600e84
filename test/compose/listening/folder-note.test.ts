import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readNote, replaceNote } from "../../../src/compose/listening/folder-note.ts";
import { openDatabase } from "../../../src/sql/engine.ts";
import { createFolder } from "../../support/command.ts";

/** Who stands in a folder's note, whatever happens between the steps of those who want to. */

const one = { host: "127.0.0.1", port: 4001 };
const other = { host: "127.0.0.1", port: 4002 };

test("of two that have read the same note, the first alone comes to stand there", async () => {
  await using folder = await createFolder();
  mkdirSync(folder.path);
  const [first, second] = [readNote(folder.path), readNote(folder.path)];
  expect(replaceNote(folder.path, first, one)).toBe(true);
  expect(replaceNote(folder.path, second, other)).toBe(false);
  expect(readNote(folder.path).place).toEqual(one);
  expect(replaceNote(folder.path, readNote(folder.path), other)).toBe(true);
  expect(readNote(folder.path).place).toEqual(other);
});

test("a note of the same place by another process is another note", async () => {
  await using folder = await createFolder();
  mkdirSync(folder.path);
  replaceNote(folder.path, readNote(folder.path), one);
  const old = readNote(folder.path);
  expect(replaceNote(folder.path, old, one)).toBe(true);
  expect(replaceNote(folder.path, old, other)).toBe(false);
  expect(readNote(folder.path).place).toEqual(one);
});

test("while another process replaces the note nobody else does", async () => {
  await using folder = await createFolder();
  mkdirSync(folder.path);
  replaceNote(folder.path, readNote(folder.path), one);
  const known = readNote(folder.path);
  const lock = openDatabase(join(folder.path, "listener.lock"));
  lock.exec("BEGIN EXCLUSIVE");
  expect(replaceNote(folder.path, known, other)).toBe(false);
  expect(readNote(folder.path).place).toEqual(one);
  // As a kill does.
  lock.close();
  expect(replaceNote(folder.path, known, other)).toBe(true);
});
