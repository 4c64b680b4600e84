import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DiskFailed } from "../../src/sql/faults.ts";
import { openLogSync, type LogSync } from "../../src/sql/sqlite.ts";
import { memoryFolder } from "../support/folders.ts";

/** Who waits for the disk, and what a disk that fails means for those who come later. */

test("those who wait while a sync is under way share the next one", async () => {
  const log = await openLog((path) => writeFileSync(path, ""));
  const first = log.sync();
  // It has not begun yet: a promise is resolved before it.
  expect(log.sync()).toBe(first);
  await Promise.resolve();
  const second = log.sync();
  expect(second).not.toBe(first);
  expect(log.sync()).toBe(second);
  await second;
});

test("who has committed nothing waits for a sync as well: another process may have", async () => {
  const log = await openLog((path) => writeFileSync(path, ""));
  const first = log.sync();
  await first;
  const second = log.sync();
  expect(second).not.toBe(first);
  await second;
});

test("after a sync that failed no other counts, and nobody writes any more", async () => {
  // A pipe can be opened as a file can, but no system syncs it.
  const log = await openLog((path) => execFileSync("mkfifo", [path]));
  log.requireSound();
  await expect(log.sync()).rejects.toMatchObject({ cause: { code: "EINVAL" } });
  expect(log.requireSound).toThrow(DiskFailed);
  await expect(log.sync()).rejects.toMatchObject({ cause: { code: "EINVAL" } });
});

async function openLog(make: (path: string) => void): Promise<LogSync> {
  const folder = mkdtempSync(join(memoryFolder, "waypost-log-"));
  const path = join(folder, "waypost.db");
  make(`${path}-wal`);
  const log = await openLogSync(path);
  onTestFinished(async () => {
    await log.close();
    rmSync(folder, { recursive: true });
  });
  return log;
}
