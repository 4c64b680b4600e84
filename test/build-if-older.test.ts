import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isOlder } from "./support/build-if-older.ts";
import { createFolder } from "./support/command.ts";

/** The command is built before the tests when its sources are newer. */

test("a build is older than any file that changed, came or went after it", async () => {
  await using folder = await createFolder();
  const [src, room] = [join(folder.path, "src"), join(folder.path, "src/room")];
  const file = join(folder.path, "program.js");
  mkdirSync(room, { recursive: true });
  for (const name of ["a.ts", "b.ts"]) writeFileSync(join(room, name), "");
  expect(isOlder(file, [src])).toBe(true);

  const build = () => {
    writeFileSync(file, "");
    const names = ["", ...readdirSync(src, { recursive: true, encoding: "utf8" })];
    for (const name of names) utimesSync(join(src, name), 1000, 1000);
    utimesSync(file, 2000, 2000);
    return isOlder(file, [src]);
  };
  expect(build()).toBe(false);
  utimesSync(join(room, "b.ts"), 3000, 3000);
  expect(isOlder(file, [src])).toBe(true);
  expect(build()).toBe(false);
  writeFileSync(join(room, "c.ts"), "");
  expect(isOlder(file, [src])).toBe(true);
  expect(build()).toBe(false);
  rmSync(join(room, "c.ts"));
  expect(isOlder(file, [src])).toBe(true);
});
