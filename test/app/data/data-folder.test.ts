import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  checkDataFolder,
  keepToken,
  prepareDataFolder,
  requireTrustedOwner,
} from "../../../src/app/data/data-folder.ts";
import { expectRefused, createFolder, run, runJson, type Folder } from "../../support/command.ts";
import { openForEach } from "../../support/open-for.ts";

/** The data folder: its owner, and who else may read it. */

let folder: Folder;
openForEach(createFolder, (opened) => (folder = opened));

const openModes = [0o750, 0o710, 0o740, 0o705, 0o755, 0o777].map((mode) => mode.toString(8));
const ours = ["waypost.db", "state.db", "owner.key", "http.token"];

const readMode = (path: string) => (statSync(path).mode & 0o777).toString(8);

function makeFolder({ path }: Folder, mode: string, names: readonly string[] = []): void {
  mkdirSync(path);
  for (const name of names) writeFileSync(join(path, name), "x");
  chmodSync(path, Number.parseInt(mode, 8));
}

test("a missing data folder and its parents are created with mode 700", async () => {
  const inner = join(folder.path, "inner");
  prepareDataFolder(inner);
  expect([readMode(folder.path), readMode(inner)]).toEqual(["700", "700"]);
});

describe.each(openModes)("a data folder with mode %s", (mode) => {
  test("is changed to mode 700 if it is empty", async () => {
    makeFolder(folder, mode);
    prepareDataFolder(folder.path);
    expect(readMode(folder.path)).toBe("700");
  });

  test.each(ours)("is changed to mode 700 if it contains Waypost's %s", async (name) => {
    makeFolder(folder, mode, ["notes.txt", name]);
    prepareDataFolder(folder.path);
    expect(readMode(folder.path)).toBe("700");
  });

  test("is refused and left unchanged if it contains only other programs' files", async () => {
    makeFolder(folder, mode, ["notes.txt"]);
    expect(() => prepareDataFolder(folder.path)).toThrow("other users can open the data folder");
    expect(readMode(folder.path)).toBe(mode);
  });
});

test("a data folder with mode 700 is accepted even with other programs' files in it", async () => {
  makeFolder(folder, "700", ["notes.txt"]);
  prepareDataFolder(folder.path);
  expect(readMode(folder.path)).toBe("700");
});

test("a data folder is refused unless its owner is the current user or root", async () => {
  makeFolder(folder, "777", ["waypost.db"]);
  const me = process.getuid?.() ?? 0;
  const owner = me === 0 ? 4242 : me;
  if (me === 0) chownSync(folder.path, owner, owner);
  for (const use of [prepareDataFolder, checkDataFolder, requireTrustedOwner]) {
    expect(() => use(folder.path, owner + 1)).toThrow("belongs to another user");
    expect(readMode(folder.path)).toBe("777");
    expect(() => requireTrustedOwner(folder.path, owner)).not.toThrow();
    expect(() => use(folder.path, 0)).toThrow(
      `belongs to another user; run this command as that user, with sudo -u '#${owner}'`,
    );
    expect(() => requireTrustedOwner("/", owner)).not.toThrow();
  }
});

test.runIf(process.getuid?.() === 0)("commands refuse another user's data folder", async () => {
  await runJson(["keys", "create", "--data", folder.path]);
  chmodSync(join(folder.path, ".."), 0o755);
  for (const name of ["", ...readdirSync(folder.path)]) {
    chownSync(join(folder.path, name), 4242, 4242);
    chmodSync(join(folder.path, name), 0o777);
  }
  const files = readdirSync(folder.path);
  expectRefused(await run(["keys", "create", "--data", folder.path]), "sudo -u '#4242'");
  expect(readdirSync(folder.path)).toEqual(files);
  const under = ["setpriv", "--reuid=4243", "--regid=4243", "--clear-groups"];
  const remote = ["stdio", "--base-url", "http://127.0.0.1:1"];
  const own = [["keys", "list"], ["serve", "--port", "0"], ["stdio"]];
  for (const words of [...own, remote]) {
    const { code, stderr } = await run([...words, "--data", folder.path], { under });
    expect([words, code]).toEqual([words, 2]);
    expect(stderr).toContain("belongs to another user");
  }
  for (const [about, ...words] of [["store"], ["approvals", "--base-url", "http://127.0.0.1:9"]]) {
    const { code, stdout } = await run(["doctor", ...words, "--data", folder.path], { under });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`FAULT ${about} +the data folder .* belongs to another user`),
    );
  }
});

test("keepToken writes its first token to a mode 600 file and then always returns it", async () => {
  prepareDataFolder(folder.path);
  const path = join(folder.path, "owner.key");
  const [first, second] = ["a", "b"].map((letter) => `waypost_${letter.repeat(40)}`);
  expect(keepToken(path, first ?? "")).toBe(first);
  expect(keepToken(path, second ?? "")).toBe(first);
  expect([readMode(path), readFileSync(path, "utf8")]).toEqual(["600", `${first}\n`]);
});
