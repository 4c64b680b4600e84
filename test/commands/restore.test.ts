import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/sql/engine.ts";
import { expectRefused, begin, createFolder, run, type Folder } from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { plantShortPaths } from "./plant-embedded.ts";
import { readFolder } from "./read-all-rows.ts";
import { waitUntil } from "../support/clock.ts";

/** `waypost restore` restores a backup completely into an empty folder, or changes nothing. */

let folder: Folder;
let file: string;

openForAll(createFolder, async (created) => {
  folder = created;
  file = beside("whole.waypost");
  const input = "path,url\nspring,https://x.example/\nsummer,https://y.example/\n";
  const made = await run(["import", "-", "--yes", "--data", folder.path], { input });
  expect(made).toMatchObject({ code: 0 });
  expect(await run(["backup", file, "--data", folder.path])).toMatchObject({ code: 0 });
});

const beside = (name: string) => join(dirname(folder.path), name);
const restore = (from: string, data: string) => run(["restore", from, "--data", data]);

async function expectRefusal(from: string, message: string | RegExp): Promise<void> {
  await using other = await createFolder();
  expectRefused(await restore(from, other.path), message);
  expect(existsSync(other.path)).toBe(false);
}

function runTar(...words: readonly string[]): void {
  const { status, stderr } = spawnSync("tar", words, { encoding: "utf8" });
  expect({ status, stderr }).toMatchObject({ status: 0 });
}

async function repack(change: (unpacked: string) => unknown): Promise<string> {
  const unpacked = await mkdtemp(beside("unpacked-"));
  runTar("xzf", file, "-C", unpacked);
  await change(unpacked);
  const changed = beside("changed.waypost");
  runTar("czf", changed, "-C", unpacked, ...(await readdir(unpacked)));
  await rm(unpacked, { recursive: true });
  return changed;
}

function changeDatabase(unpacked: string, statement: string): void {
  const database = openDatabase(join(unpacked, "waypost.db"));
  database.exec(`PRAGMA journal_mode = DELETE; ${statement}`);
  database.close();
}

describe("waypost restore", () => {
  test("refuses a file that is truncated at any byte", async () => {
    const bytes = await readFile(file);
    const cut = beside("cut.waypost");
    for (const length of [0, 5, 100, bytes.length >> 1, bytes.length - 1]) {
      await writeFile(cut, bytes.subarray(0, length));
      await expectRefusal(cut, "cannot be restored: the file is cut off. Nothing was written");
    }
  });

  test("refuses a file in which one byte has changed", async () => {
    const bytes = await readFile(file);
    const changed = beside("changed.waypost");
    for (const at of [bytes.length >> 1, bytes.length - 8]) {
      const other = Buffer.from(bytes);
      other[at] = (other[at] ?? 0) ^ 0x10;
      await writeFile(changed, other);
      await expectRefusal(
        changed,
        "cannot be restored: it is damaged, or not a Waypost backup. Nothing was written",
      );
    }
  });

  test.each([
    ["a text file", "path,url\n"],
    ["a compressed text file", gzipSync("hello\n".repeat(200))],
    ["a compressed file of zeros", gzipSync(Buffer.alloc(10_240))],
  ])("refuses a file that is %s", async (_, content) => {
    const foreign = beside("foreign.waypost");
    await writeFile(foreign, content);
    await expectRefusal(foreign, "it is damaged, or not a Waypost backup. Nothing was written");
  });

  test("refuses a database, a folder and a missing file", async () => {
    await expectRefusal(join(folder.path, "waypost.db"), "it is damaged, or not a Waypost backup");
    await expectRefusal(folder.path, "is not a file; use a file that waypost backup wrote");
    await expectRefusal(beside("missing"), "cannot be read: it does not exist");
  });

  const damaged = "it is damaged, or not a Waypost backup";
  type Change = (unpacked: string) => unknown;
  const changes: readonly (readonly [what: string, message: string, change: Change])[] = [
    ["contains an unknown file", damaged, (unpacked) => writeFile(join(unpacked, "notes"), "")],
    [
      "contains only keys",
      damaged,
      async (unpacked) => {
        for (const name of ["state.db", "waypost.db"]) await rm(join(unpacked, name));
      },
    ],
    [
      "has a damaged database",
      "its state.db is damaged or not Waypost's",
      async (unpacked) => {
        const path = join(unpacked, "state.db");
        await writeFile(path, (await readFile(path)).fill(0xff, 8192, 40_000));
      },
    ],
    [
      "has a database of another program",
      "its waypost.db is damaged or not Waypost's",
      (unpacked) => changeDatabase(unpacked, "PRAGMA application_id = 7"),
    ],
    [
      "was made by another version",
      "another version of Waypost made it; use that version",
      (unpacked) =>
        changeDatabase(unpacked, "INSERT INTO waypost_migrations (name) VALUES ('999-later')"),
    ],
  ];
  test.each(changes)("refuses a file that %s", async (_, message, change) => {
    await expectRefusal(await repack(change), message);
  });
});

test("restore accepts a backup that was unpacked and repacked with tar", async () => {
  const changed = await repack(() => undefined);
  await using other = await createFolder();
  expect(await restore(changed, other.path)).toMatchObject({ code: 0 });
  expect(await readFolder(other.path)).toEqual(await readFolder(folder.path));
});

describe("restore into a folder that is not empty", () => {
  test("is refused without changes if the folder contains Waypost data", async () => {
    const before = await readdir(folder.path);
    const refused = await restore(file, folder.path);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toBe(
      `waypost: Nothing was copied: "${folder.path}" is not empty: it contains "owner.key"; ` +
        "choose an empty folder\n",
    );
    expect(await readdir(folder.path)).toEqual(before);
  });

  test.each(["notes.txt", "waypost.db", "http.token", "exports"])(
    "is refused without changes if the folder contains the file %s",
    async (name) => {
      await using other = await createFolder();
      await mkdir(other.path, { mode: 0o700 });
      await writeFile(join(other.path, name), "mine\n");
      expectRefused(await restore(file, other.path), `it contains "${name}"`);
      expect(await readdir(other.path)).toEqual([name]);
    },
  );

  test("is accepted if the folder contains only lost+found and the code cache", async () => {
    await using other = await createFolder();
    await mkdir(join(other.path, "lost+found"), { recursive: true, mode: 0o700 });
    await writeFile(join(other.path, "compiled-x"), "");
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
  });
});

describe("a restore of a large backup", () => {
  let large: string;
  beforeAll(async () => {
    await using source = await createFolder();
    expect(await restore(file, source.path)).toMatchObject({ code: 0 });
    plantShortPaths(source.path, 300_000);
    large = beside("large.waypost");
    expect(await run(["backup", large, "--data", source.path])).toMatchObject({ code: 0 });
  });

  const start = async (data: string) => {
    const going = begin(["restore", large, "--data", data]);
    const path = join(data, "incomplete", "waypost.db");
    await waitUntil(async () => existsSync(path) && (await stat(path)).size > 0);
    return going;
  };

  test("if killed, blocks other commands until it is run again", async () => {
    await using other = await createFolder();
    const going = await start(other.path);
    going.send("SIGKILL");
    expect((await going.finished).code).toBe(null);
    const commands = [
      ["serve", "--port", "0"],
      ["keys", "list"],
      ["backup", beside("no")],
    ];
    for (const words of commands) {
      expectRefused(
        await run([...words, "--data", other.path]),
        /is incomplete: .* run the same command again/,
      );
    }
    const doctor = await run(["doctor", "--data", other.path]);
    expect(doctor).toMatchObject({ code: 1 });
    expect(doctor.stdout).toContain("is incomplete");
    // Any backup can be used now.
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
    const names = ["owner.key", "state.db", "waypost.db"];
    expect((await readdir(other.path)).toSorted()).toEqual(names);
    expect(await readFolder(other.path)).toEqual(await readFolder(folder.path));
  });

  test("can be run again after it was killed while moving files into place", async () => {
    await using other = await createFolder();
    const going = await start(other.path);
    going.send("SIGKILL");
    await going.finished;
    await writeFile(join(other.path, "state.db"), "half");
    await writeFile(join(other.path, "owner.key"), "half");
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
    expect(await readFolder(other.path)).toEqual(await readFolder(folder.path));
  });

  test("blocks another restore into the same folder", async () => {
    await using other = await createFolder();
    const going = await start(other.path);
    const second = await restore(file, other.path);
    expect(await going.finished).toMatchObject({ code: 0 });
    expectRefused(second, /another process is copying to|is not empty/);
  });

  test("leaves no files after Ctrl-C", async () => {
    await using other = await createFolder();
    const going = await start(other.path);
    going.send("SIGINT");
    expect(await going.finished).toEqual({
      code: 130,
      stdout: "",
      stderr: "waypost: stopped; nothing was copied\n",
    });
    expect(existsSync(other.path)).toBe(false);
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
  });

  test("leaves no files if the disk is full", async ({ skip }) => {
    skip(
      spawnSync("unshare", ["-m", "true"]).status !== 0,
      "a separate disk cannot be mounted here",
    );
    await using other = await createFolder();
    await mkdir(other.path, { mode: 0o700 });
    const made = `mount -t tmpfs -o size=4m,mode=0700 none ${other.path} && "$@"; code=$?`;
    const listed = `ls ${other.path} >&2; exit $code`;
    const under = ["unshare", "-m", "sh", "-c", `${made}; ${listed}`, "sh"];
    expectRefused(
      await run(["restore", large, "--data", other.path], { under }),
      /: its disk is full; free some space\n$/,
    );
  });
});

test.each([[[]], [["one", "two"]]])(
  "waypost restore %j is refused because exactly one file is required",
  async (words) => {
    expectRefused(await run(["restore", ...words, "--data", folder.path]), "use restore FILE");
  },
);
