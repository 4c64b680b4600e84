import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { DiskFailed } from "../../src/sql/faults.ts";
import { openLogSync, type LogSync } from "../../src/sql/sqlite.ts";
import { createEmptyFolder } from "../support/folders.ts";

/** Tests syncing the log to disk, and writes after a failed sync. */

test("sync requests made during a running sync share the next sync", async () => {
  const log = await openLog((path) => writeFileSync(path, ""));
  const first = log.sync();
  // The first sync starts only after a promise resolves, so both calls share it.
  expect(log.sync()).toBe(first);
  await Promise.resolve();
  const second = log.sync();
  expect(second).not.toBe(first);
  expect(log.sync()).toBe(second);
  await second;
});

test("a sync without new commits still runs because another process may have written", async () => {
  const log = await openLog((path) => writeFileSync(path, ""));
  const first = log.sync();
  await first;
  const second = log.sync();
  expect(second).not.toBe(first);
  await second;
});

test("after a failed sync, all later syncs and writes fail", async () => {
  // A pipe can be opened like a file, but syncing a pipe always fails.
  const log = await openLog((path) => execFileSync("mkfifo", [path]));
  log.requireSound();
  await expect(log.sync()).rejects.toMatchObject({ cause: { code: "EINVAL" } });
  expect(log.requireSound).toThrow(DiskFailed);
  await expect(log.sync()).rejects.toMatchObject({ cause: { code: "EINVAL" } });
});

async function openLog(make: (path: string) => void): Promise<LogSync> {
  const folder = await createEmptyFolder();
  const path = join(folder.path, "waypost.db");
  make(`${path}-wal`);
  const log = await openLogSync(path);
  onTestFinished(async () => {
    await log.close();
    await folder[Symbol.asyncDispose]();
  });
  return log;
}
