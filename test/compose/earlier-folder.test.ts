import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gunzipSync } from "node:zlib";
import { readDataFolder } from "../fixtures/read-data-folder.ts";
import { createFolder } from "../support/command.ts";

/** Data folders that earlier commits wrote (test/fixtures/write-data-folder.ts). */

const fixtures = join(import.meta.dirname, "../fixtures");
const folders = (await readdir(fixtures)).filter((name) => name.startsWith("data-folder-"));

test("there is a folder of an earlier commit", () => {
  expect(folders.length).toBeGreaterThan(0);
});

test.each(folders)(
  "%s opens with every link, key, draft, webhook, plan and job in it",
  async (name) => {
    await using folder = await createFolder();
    await mkdir(folder.path, { mode: 0o700 });
    const read = (file: string) => readFile(join(fixtures, name, file));
    for (const database of ["waypost.db", "state.db"]) {
      const whole = gunzipSync(await read(`${database}.gz`));
      await writeFile(join(folder.path, database), whole, { mode: 0o600 });
    }
    await writeFile(join(folder.path, "owner.key"), await read("owner.key"), { mode: 0o600 });
    const { written_at, expected } = JSON.parse((await read("expected.json")).toString());
    const found = await readDataFolder(folder.path, written_at);
    expect(found.links.length).toBeGreaterThan(4);
    expect(found.plans.length).toBeGreaterThan(3);
    expect(found.receipts.length).toBeGreaterThan(0);
    expect(tellSeconds(found)).toMatchObject(tellSeconds(expected));
    // It was no part of a plan at the time, and is told all the same.
    for (const { what } of found.jobs) expect(what).toMatch(/^(undid job_|(created|changed) \d)/);
  },
);

/** Assistants are told whole seconds on the user's clocks; once it was more of UTC. */
function tellSeconds<Value>(value: Value): Value {
  const time = /"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)"/g;
  const texts = JSON.stringify(value).replace(time, (_, moment: string, zone: string) =>
    JSON.stringify(new Date(moment + zone).toISOString()),
  );
  return JSON.parse(texts);
}
