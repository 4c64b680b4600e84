import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DiskFailed } from "../../src/sql/faults.ts";
import { openLogSync, type LogSync } from "../../src/sql/sqlite.ts";
import { memoryFolder } from "../support/folders.ts";

/** Syncing the log to disk, and what a failed sync means for later writes. */

test("callers that wait during a sync share the next one", async () => {
  const log = await openLog((path) => writeFileSync(path, ""));
  const first = log.sync();
  // The sync has not started yet, because a promise is resolved first.
  expect(log.sync()).toBe(first);
  await Promise.resolve();
  const second = log.sync();
  expect(second).not.toBe(first);
  expect(log.sync()).toBe(second);
  await second;
});

test("a sync without new commits is not skipped: another process may have written", async () => {
  const log = await openLog((path) => writeFileSync(path, ""));
  const first = log.sync();
  await first;
  const second = log.sync();
  expect(second).not.toBe(first);
  await second;
});

test("after a failed sync all later syncs and writes fail", async () => {
  // A pipe can be opened like a file, but no system syncs it.
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
