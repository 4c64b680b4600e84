import { spawnSync } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createGunzip, gzipSync } from "node:zlib";
import { beforeAll, describe, expect, test } from "vitest";
import { copiedTables } from "../../src/compose/copied-databases.ts";
import { keptFiles } from "../../src/compose/data-folder.ts";
import { checkBackup } from "../../src/copies/check-backup.ts";
import { CopyFault } from "../../src/copies/copied-database.ts";
import { openDatabase } from "../../src/sql/engine.ts";
import { findTable, forgeBackup, readBackupLines } from "../support/backup-lines.ts";
import { setClockAhead } from "../support/clock-ahead.ts";
import {
  begin,
  createFolder,
  runProcess as run,
  runJson,
  type Finished,
  type Folder,
} from "../support/command.ts";
import { openForAll } from "../support/open-for.ts";
import { listEmbedded, plantEmbedded } from "../support/plant-embedded.ts";
import { waitUntil } from "../support/wait-until.ts";

/** `waypost restore`: a whole backup into an empty folder, and nothing else anywhere. */

let folder: Folder;
let file: string;
// Tests change lines as they like.
// oxlint-disable-next-line typescript/no-explicit-any
let lines: any[];

openForAll(createFolder, async (created) => {
  folder = created;
  file = beside("whole.waypost");
  const links = [1, 2, 3].map((n) => ({ path: `link-${n}`, name: `Name ${n}` }));
  await plantEmbedded(folder.path, links);
  const rows = beside("rows.csv");
  await writeFile(rows, "path,url\nspring,https://x.example/\n");
  expect(await run(["import", rows, "--yes", "--data", folder.path])).toMatchObject({ code: 0 });
  expect(await run(["backup", file, "--data", folder.path])).toMatchObject({ code: 0 });
  lines = await readBackupLines(file);
});

const beside = (name: string) => join(dirname(folder.path), name);
const restore = (from: string, data: string, env?: Readonly<Record<string, string>>) =>
  run(["restore", from, "--data", data], env && { env });

/** Refused in one line, and no folder was made. */
async function expectRefusal(from: string, message: string | RegExp): Promise<void> {
  await using other = await createFolder();
  const refused = await restore(from, other.path);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toMatch(/^waypost: [^\n]+\n$/);
  expect(refused.stderr).toMatch(message);
  expect(existsSync(other.path)).toBe(false);
}

describe("a file that is not whole changes nothing", () => {
  let bytes: Buffer;
  beforeAll(async () => {
    bytes = await readFile(file);
  });

  test("cut off, wherever that was", async () => {
    const cut = beside("cut.waypost");
    const ends = [0, 5, 100, bytes.length - 9, bytes.length - 1];
    for (const end of ends) {
      await writeFile(cut, bytes.subarray(0, end));
      await expectRefusal(cut, /the file is cut off|not a Waypost backup/);
    }
    const whole = lines.map((line) => JSON.stringify(line));
    for (const kept of [1, whole.length - 1]) {
      await writeFile(cut, gzipSync(`${whole.slice(0, kept).join("\n")}\n`));
      await expectRefusal(cut, "the file is cut off");
    }
  });

  test("with a byte or a row that is another", async () => {
    const other = beside("other.waypost");
    for (const at of [30, bytes.length >> 1, bytes.length - 3]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      await writeFile(other, changed);
      await expectRefusal(other, "it is damaged");
    }
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    for (const changed of [
      text.replace("Name 1", "Name 9"),
      text.replace(/\n\["[^\n]*Name 1[^\n]*/, ""),
      `${text}${text}`,
      text.replace("Name 1", "Name \ud800"),
    ]) {
      await writeFile(other, gzipSync(changed));
      await expectRefusal(other, "it is damaged");
    }
  });

  test.each([
    ["text", "path,url\n"],
    ["JSON", "{}\n"],
    ["a packed text", gzipSync("hello\n")],
    ["packed JSON", gzipSync('{"links":[]}\n')],
    ["what is no UTF-8", gzipSync(Buffer.from([0xff, 0xfe, 0x0a]))],
  ])("of somebody else: %s", async (_, content) => {
    const foreign = beside("foreign.waypost");
    await writeFile(foreign, content);
    await expectRefusal(foreign, "it is not a Waypost backup. Nothing was written");
  });

  test("a database, a folder, or nothing at all", async () => {
    await expectRefusal(join(folder.path, "waypost.db"), "it is not a Waypost backup");
    await expectRefusal(folder.path, "is not a file; use a file that waypost backup wrote");
    await expectRefusal(beside("missing"), "does not exist; use a file that waypost backup wrote");
  });
});

const forged = () => beside("forged.waypost");
const changeRow = (table: string, change: (row: unknown[], columns: string[]) => void) => {
  const copy = structuredClone(lines);
  const at = findTable(copy, table);
  change(copy[at + 1], copy[at].columns);
  return copy;
};
const setCell = (table: string, name: string, value: unknown) =>
  changeRow(table, (row, columns) => (row[columns.indexOf(name)] = value));
const changeLine = (at: number, changes: object) =>
  lines.map((line, index) => (index === at ? { ...line, ...changes } : line));

describe("a file whose sums are right is looked at row by row", () => {
  test.each([
    ["a text as a number", () => setCell("links", "clicks", "1; drop table links")],
    ["a number as a text", () => setCell("links", "path", 7)],
    ["half a number", () => setCell("links", "clicks", 0.5)],
    ["more than a number holds", () => setCell("links", "clicks", 1e300)],
    ["nothing where something must be", () => setCell("links", "path", null)],
    ["a list in a row", () => setCell("links", "name", ["x"])],
    ["a NUL", () => setCell("links", "name", "a\u0000b")],
    ["half a character", () => setCell("links", "name", "\ud800")],
    ["a row that is too long", () => changeRow("links", (row) => row.push(1))],
    ["a row that is too short", () => changeRow("links", (row) => row.pop())],
    ["a table of no version", () => changeLine(findTable(lines, "links"), { table: "migrations" })],
    ["a table as SQL", () => changeLine(findTable(lines, "links"), { table: 'x"; drop' })],
    [
      "a column of no version",
      () => changeLine(findTable(lines, "secrets"), { columns: ["x", "y"] }),
    ],
    [
      "a column that is missing",
      () => changeLine(findTable(lines, "secrets"), { columns: ["name"] }),
    ],
    [
      "a table that is missing",
      () =>
        lines.filter((_, at) => {
          const start = findTable(lines, "chores");
          return at < start || at > start + 1;
        }),
    ],
    [
      "a table twice",
      () => {
        const start = findTable(lines, "chores");
        return lines.toSpliced(start, 0, ...lines.slice(start, start + 2));
      },
    ],
    ["a file of another name", () => changeLine(1, { file: "../owner.key" })],
    ["a file of another kind", () => changeLine(1, { file: "waypost.db" })],
    ["a file with more than a key", () => changeLine(1, { text: "a\nb" })],
    ["no database", () => changeLine(0, { databases: {} })],
  ])("%s", async (_, make) => {
    await forgeBackup(forged(), make());
    const known = { databases: copiedTables, files: keptFiles };
    const chunks = createReadStream(forged()).pipe(createGunzip());
    await expect(checkBackup(chunks, known)).rejects.toThrow(CopyFault);
  });

  test("a backup of another version is refused as such", async () => {
    const version = "9.1.0";
    for (const head of [
      { version, databases: { ...lines[0].databases, store: ["initial"] } },
      { version, waypost_backup: 1, databases: { state: 12, store: 31 } },
      { version, waypost_backup: 3 },
    ]) {
      await forgeBackup(forged(), changeLine(0, head));
      await expectRefusal(forged(), "another version of Waypost made it (9.1.0); use that version");
    }
  });

  test("rows that no store can have leave the folder as empty as it was", async () => {
    await using other = await createFolder();
    const at = findTable(lines, "links");
    const twice = lines.toSpliced(at + 1, 0, lines[at + 1]);
    await forgeBackup(forged(), twice);
    const failed = await restore(forged(), other.path);
    expect(failed.code).toBe(2);
    expect(failed.stderr).toMatch(/^waypost: Nothing was copied[^\n]+\n$/);
    expect((await readdir(other.path)).filter((name) => name.endsWith(".key"))).toEqual([]);
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
    expect(await listEmbedded(other.path)).toEqual(await listEmbedded(folder.path));
  });
});

describe("a folder that is not empty is refused, and left as it is", () => {
  test("with a store in it", async () => {
    const before = await listEmbedded(folder.path);
    const refused = await restore(file, folder.path);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toBe(
      `waypost: Nothing was copied: the folder "${folder.path}" already contains Waypost data. ` +
        "Use an empty folder.\n",
    );
    expect(await listEmbedded(folder.path)).toEqual(before);
    await using other = await createFolder();
    await plantEmbedded(other.path, []);
    // A store alone is known by what is in it.
    await rm(join(other.path, "owner.key"));
    const alone = await restore(file, other.path);
    expect(alone).toMatchObject({ code: 2, stdout: "" });
    expect(alone.stderr).toContain(`the folder "${other.path}" already contains Waypost data`);
    expect(await listNames(join(other.path, "waypost.db"))).toContain("links");
  });

  test.each(["notes.txt", "owner.key", "http.token", "exports"])("with %s in it", async (name) => {
    await using other = await createFolder();
    await mkdir(other.path, { mode: 0o700 });
    await writeFile(join(other.path, name), "mine\n");
    const refused = await restore(file, other.path);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(`it contains "${name}"`);
    expect(await readdir(other.path)).toEqual([name]);
  });

  test("but for what V8 has compiled, and a disk's own folder", async () => {
    await using other = await createFolder();
    await mkdir(join(other.path, "lost+found"), { recursive: true, mode: 0o700 });
    await writeFile(join(other.path, "compiled-x"), "");
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
  });
});

describe("killed in between", () => {
  let large: string;
  beforeAll(async () => {
    large = beside("large.waypost");
    const copy = structuredClone(lines);
    const at = findTable(copy, "short_paths");
    const rows = Array.from({ length: 60_000 }, (_, n) => ["p", `path-${n}`, "l", `q=${n}`, 0]);
    await forgeBackup(large, copy.toSpliced(at + 1, 0, ...rows));
  });

  async function killHalfway(data: string): Promise<void> {
    const going = begin(["restore", large, "--data", data]);
    const path = join(data, "waypost.db-wal");
    await waitUntil(async () => existsSync(path) && (await readFile(path)).length > 1_000_000);
    going.send("SIGKILL");
    expect((await going.finished).code).toBe(null);
  }

  test("nobody opens what is half there, and the same command does it", async () => {
    await using other = await createFolder();
    await killHalfway(other.path);
    for (const words of [
      ["serve", "--port", "0"],
      ["keys", "list"],
      ["backup", beside("no")],
    ]) {
      const refused = await run([...words, "--data", other.path]);
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toMatch(/The database is incomplete: .* Run the same command again/);
    }
    const doctor = await run(["doctor", "--data", other.path]);
    expect(doctor).toMatchObject({ code: 1 });
    expect(doctor.stdout).toContain("The database is incomplete");
    const early: Finished = await restore(file, other.path);
    expect(early).toMatchObject({ code: 2, stdout: "" });
    expect(early.stderr).toMatch(
      /another process is copying to the same place; .* try again in \d+ seconds/,
    );
    // Any backup will do.
    expect(await restore(file, other.path, setClockAhead(15_000))).toMatchObject({ code: 0 });
    const again = await runJson(["backup", beside("again.waypost"), "--data", other.path]);
    const first = await runJson(["backup", beside("first.waypost"), "--data", folder.path]);
    expect(again.backup.tables).toEqual(first.backup.tables);
    expect(await readdir(other.path)).toEqual(["owner.key", "state.db", "waypost.db"]);
  });

  test("Ctrl-C takes back what was written", async () => {
    await using other = await createFolder();
    const going = begin(["restore", large, "--data", other.path]);
    await waitUntil(() => existsSync(join(other.path, "waypost.db-wal")));
    going.send("SIGINT");
    expect(await going.finished).toEqual({
      code: 130,
      stdout: "",
      stderr: "waypost: stopped; nothing was copied\n",
    });
    expect(await listNames(join(other.path, "waypost.db"))).toEqual([]);
    expect(await restore(file, other.path)).toMatchObject({ code: 0 });
  });

  test("a full disk is told, and the same command does it when there is room", async ({ skip }) => {
    skip(spawnSync("unshare", ["-m", "true"]).status !== 0, "no disk of our own can be made here");
    await using other = await createFolder();
    await mkdir(other.path, { mode: 0o700 });
    const made = `mount -t tmpfs -o size=4m,mode=0700 none ${other.path} && "$@"; code=$?`;
    // What is left on the full disk is kept, for it goes with the command that has made it.
    const kept = `cp -r ${other.path} ${other.path}-left; exit $code`;
    const under = ["unshare", "-m", "sh", "-c", `${made}; ${kept}`, "sh"];
    const full = await run(["restore", large, "--data", other.path], { under });
    expect(full).toMatchObject({ code: 2, stdout: "" });
    expect(full.stderr).toMatch(
      /the disk is full.*free some space, and run the same command again\n$/,
    );
    const left = `${other.path}-left`;
    expect(await restore(file, left, setClockAhead(15_000))).toMatchObject({ code: 0 });
    expect(await listEmbedded(left)).toEqual(await listEmbedded(folder.path));
  });
});

async function listNames(path: string): Promise<readonly unknown[]> {
  const database = openDatabase(path);
  const rows = database.prepare("select name from sqlite_schema where type = 'table'").all();
  database.close();
  return rows.map((row) => (row as { name: string }).name);
}

test.each([[[]], [["one", "two"]]])("restore takes one file, and not %j", async (words) => {
  const refused = await run(["restore", ...words, "--data", folder.path]);
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("use restore FILE");
});
