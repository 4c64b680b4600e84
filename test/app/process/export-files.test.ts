import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { expect, test } from "vitest";
import { removeEndedFiles, saveExportFile } from "../../../src/app/process/export-files.ts";
import { createEmptyFolder } from "../../support/folders.ts";
import { openForEach } from "../../support/open-for.ts";

/** Export files for a client on the same machine. */

let data: string;
openForEach(createEmptyFolder, ({ path }) => (data = path));

async function* texts() {
  yield "path\n";
  yield "spring\n";
}

async function* broken() {
  yield* texts();
  throw new Error("the disk is full");
}

test("an export file is complete and readable only by its owner", async () => {
  const path = await saveExportFile(data, "csv", texts());
  expect(path).toMatch(/\/exports\/[\w-]{36}\.csv$/);
  expect(await readFile(path, "utf8")).toBe("path\nspring\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
});

test("an export file's path is absolute even if the data folder's path is relative", async () => {
  const path = await saveExportFile(relative(process.cwd(), data), "csv", texts());
  expect(dirname(path)).toBe(join(data, "exports"));
});

test("an export that fails leaves no file", async () => {
  await expect(saveExportFile(data, "csv", broken())).rejects.toThrow("the disk is full");
  expect(await readdir(join(data, "exports"))).toEqual([]);
});

test("an export file is deleted after one hour", async () => {
  await removeEndedFiles(data, 0);
  const path = await saveExportFile(data, "csv", texts());
  const { mtimeMs } = await stat(path);
  await removeEndedFiles(data, mtimeMs + 60 * 60_000 - 1);
  expect(await readdir(dirname(path))).toHaveLength(1);
  await removeEndedFiles(data, mtimeMs + 60 * 60_000);
  expect(await readdir(dirname(path))).toEqual([]);
});

test("other files in the export folder are not deleted", async () => {
  const path = await saveExportFile(data, "json", texts());
  const folder = dirname(path);
  await writeFile(join(folder, "mine.csv"), "kept");
  await mkdir(join(folder, `${randomUUID()}.csv`));
  await symlink(join(folder, "mine.csv"), join(folder, `${randomUUID()}.csv`));
  const { mtimeMs } = await stat(path);
  await removeEndedFiles(data, mtimeMs + 24 * 60 * 60_000);
  expect(await readdir(folder)).toHaveLength(3);
  expect(await readFile(join(folder, "mine.csv"), "utf8")).toBe("kept");
});

test("two processes that delete the same export files at once cause no error", async () => {
  const paths = await Promise.all(
    Array.from({ length: 20 }, () => saveExportFile(data, "csv", texts())),
  );
  const late = Date.now() + 2 * 60 * 60_000;
  await Promise.all([removeEndedFiles(data, late), removeEndedFiles(data, late)]);
  expect(await readdir(dirname(paths[0] ?? ""))).toEqual([]);
});
