import { readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  expectRefused,
  createUsedFolder,
  run,
  runProcess,
  startServe,
  type Folder,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** A damaged state database is reported at the start and not changed. */

let folder: Folder;

openForAll(createUsedFolder, async (created) => {
  folder = created;
  const input = "path,url\nspring,https://a.example/\n";
  const made = await runProcess(["import", "-", "--yes", "--data", folder.path], { input });
  expect(made).toMatchObject({ code: 0 });
});

const foreign = "is not a Waypost database. It was not changed. Restore it from a backup";
const damaged = "It was not changed. Restore it from a backup";

type Case = readonly [what: string, spoil: (path: string) => void, told: string];

const cases: readonly Case[] = [
  ["its header was overwritten", (path) => overwrite(path, 0, 100), foreign],
  ["its schema was overwritten", (path) => overwrite(path, 100, 3996), damaged],
  ["pages in its middle were overwritten", (path) => overwrite(path, 3 * 4096, 8192), damaged],
  ["its end was cut off", (path) => truncateSync(path, 5 * 4096), damaged],
  ["it was cut off inside its header", (path) => truncateSync(path, 60), foreign],
  ["it was emptied", (path) => truncateSync(path, 0), "is empty, but it had data"],
];

function overwrite(path: string, start: number, length: number): void {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, start, start + length);
  writeFileSync(path, bytes);
}

describe.each(cases)("a damaged state database (%s)", (_, spoil, told) => {
  test("serve, stdio and doctor report the damage and do not change the file", async () => {
    await using other = await createUsedFolder();
    await cp(folder.path, other.path, { recursive: true });
    const path = join(other.path, "state.db");
    spoil(path);
    const before = readFileSync(path);
    const serving = startServe(other.path);
    await expect(serving).rejects.toThrow(told);
    await expect(serving).rejects.toThrow(/"code":2,"stdout":""/);
    const stdio = await run(["--data", other.path], { input: "" });
    expectRefused(stdio, /^waypost: [^\n]*state\.db [^\n]+\n$/);
    expect(stdio.stderr).toContain(told);
    const looked = await run(["doctor", "--data", other.path]);
    expect(looked.code).toBe(1);
    expect(looked.stdout).toMatch(/^FAULT approvals +\S+state\.db /m);
    expect(looked.stdout).toContain(told);
    expect(readFileSync(path).equals(before)).toBe(true);
    const names = readdirSync(other.path).filter((name) => name.startsWith("state.db"));
    expect(names.filter((name) => !/^state\.db(?:-wal|-shm)?$/.test(name))).toEqual([]);
    // Everything works again once the file is restored.
    await cp(join(folder.path, "state.db"), path);
    const mended = await run(["jobs", "--data", other.path]);
    expect(mended).toMatchObject({ code: 0 });
    expect(mended.stdout).toContain("done");
  });
});
