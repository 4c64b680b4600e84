import { randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStateFile, type State } from "../../src/state/state.ts";
import { createEmptyFolder } from "../support/folders.ts";
import { openForEach } from "../support/open-for.ts";
import { openStateForEach, isOnPostgres } from "../support/store-place.ts";

/** Tests the state database: its permissions, its secrets and several processes. */

const onFile = test.skipIf(isOnPostgres);
const at = openStateForEach();

let path: string;
openForEach(createEmptyFolder, (folder) => (path = join(folder.path, "state.db")));

function open(): Promise<State> {
  return openStateFile(path, {
    clock: { now: () => Date.UTC(2026, 0, 15, 12), monotonic: () => 0 },
    random: { bytes: (count) => randomBytes(count) },
  });
}

onFile("the state file is private to its owner and has its own application ID", async () => {
  const state = await open();
  await state.readSecret("a");
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    expect((await stat(file)).mode & 0o777, file).toBe(0o600);
  }
  await state.close();
  expect((await readFile(path)).subarray(68, 72).toString("latin1")).toBe("WAYS");
});

onFile("another program's file is refused as the state file and left unchanged", async () => {
  await writeFile(path, "not a database, but a person's notes".repeat(10));
  const before = await readFile(path);
  await expect(open()).rejects.toThrow(/is not a Waypost database/);
  expect(await readFile(path)).toEqual(before);
});

test("a secret in the state database is created once and never changes", async () => {
  const states = await Promise.all([at.open(), at.open(), at.open()]);
  const secrets = await Promise.all(states.map(({ readSecret }) => readSecret("a")));
  const [first] = secrets;
  expect(first).toHaveLength(32);
  for (const secret of secrets) expect(secret).toEqual(first);
  expect(await states[0]?.readSecret("b")).not.toEqual(first);
  await Promise.all(states.map(({ close }) => close()));

  const later = await at.open();
  expect(await later.readSecret("a")).toEqual(first);
  await later.close();
});

test("two processes can create the state database concurrently", async () => {
  const states = await Promise.all([at.open(), at.open()]);
  const opened = await Promise.all(
    states.map(({ approvals }) => approvals.openForToken({ digest: "x", preview: "{}" })),
  );
  expect(new Set(opened.map(({ id }) => id)).size).toBe(2);
  await Promise.all(states.map(({ close }) => close()));
});
