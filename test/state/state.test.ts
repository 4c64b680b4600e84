import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openStateFile, type State } from "../../src/state/state.ts";
import { memoryFolder } from "../support/folders.ts";
import { openStateForEach, isOnPostgres } from "../support/store-place.ts";

/** What Waypost itself remembers: private, its own, shared by every process. */

const onFile = test.skipIf(isOnPostgres);
const at = openStateForEach();

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(memoryFolder, "waypost-state-"));
  path = join(folder, "state.db");
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

function open(): Promise<State> {
  return openStateFile(path, {
    clock: { now: () => Date.UTC(2026, 0, 15, 12), monotonic: () => 0 },
    random: { bytes: (count) => randomBytes(count) },
  });
}

onFile("is private to its owner, and says whose it is", async () => {
  const state = await open();
  await state.readSecret("a");
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    expect((await stat(file)).mode & 0o777, file).toBe(0o600);
  }
  await state.close();
  expect((await readFile(path)).subarray(68, 72).toString("latin1")).toBe("WAYS");
});

onFile("is no other database, and a strange file is left as it is", async () => {
  await writeFile(path, "not a database, but somebody's notes".repeat(10));
  const before = await readFile(path);
  await expect(open()).rejects.toThrow(/is not a Waypost database/);
  expect(await readFile(path)).toEqual(before);
});

test("keeps each secret for good, and one for every process that asks at once", async () => {
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

test("is made whole by two first starts at once", async () => {
  const states = await Promise.all([at.open(), at.open()]);
  const opened = await Promise.all(
    states.map(({ approvals }) => approvals.openForToken({ digest: "x", preview: "{}" })),
  );
  expect(new Set(opened.map(({ id }) => id)).size).toBe(2);
  await Promise.all(states.map(({ close }) => close()));
});
