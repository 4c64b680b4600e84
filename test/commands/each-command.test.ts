import { join } from "node:path";
import { expect, test } from "vitest";
import { createFolder, runProcess, type Folder } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";

/** Most tests run commands in the test process. Here each command is a real process. */

let folder: Folder;

openForAll(createFolder, async (opened) => {
  folder = opened;
  const made = await runProcess(["keys", "create", "--data", folder.path]);
  expect(made).toMatchObject({ code: 0 });
});

test.each([
  ["keys", "list"],
  ["projects", "list"],
  ["webhooks", "list"],
  ["bin", "list"],
  ["stats"],
  ["jobs"],
  ["tools"],
  ["connect", "cursor"],
  ["doctor"],
  ["export"],
])("waypost %s %s exits when run as a separate process", async (...words) => {
  const { code, stdout, stderr } = await runProcess([...words, "--data", folder.path]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout + stderr).not.toBe("");
});

test("waypost import reads a file from stdin and exits", async () => {
  const input = "path,url\nspring,https://example.com/sale\n";
  const words = ["import", "-", "--yes", "--data", folder.path];
  expect(await runProcess(words, { input })).toMatchObject({ code: 0 });
});

test("waypost backup and restore each exit when run as a separate process", async () => {
  const file = join(folder.path, "../copy.waypost");
  const to = join(folder.path, "../restored");
  expect(await runProcess(["backup", file, "--data", folder.path])).toMatchObject({ code: 0 });
  expect(await runProcess(["restore", file, "--data", to])).toMatchObject({ code: 0 });
});
