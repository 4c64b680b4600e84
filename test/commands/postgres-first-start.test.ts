import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { createFolder, run, startServe } from "../support/command.ts";
import { query, takeDatabase, takeEmptyDatabase } from "../support/postgres.ts";

/** Matches the last line of a first start with a database. */
function inDatabase(url: string): RegExp {
  const { username, host, pathname } = new URL(url);
  return new RegExp(
    `\nThe data is in the database postgres://${username}@${host}${pathname}\\.\n$`,
  );
}

/** First starts with one PostgreSQL database. */

test("concurrent first starts create only one key, and each prints where the key is", async () => {
  await using database = await takeDatabase();
  await using one = await createFolder();
  await using two = await createFolder();
  await using three = await createFolder();
  const env = { WAYPOST_DATABASE_URL: database.url };
  const folders = [one, two, three];
  const servings = await Promise.all(folders.map(({ path }) => startServe(path, [], { env })));
  const keys = servings.map(({ key }) => key).filter((key) => key !== "");
  const [key = ""] = keys;
  expect(keys).toHaveLength(1);
  const files = folders.map(({ path }) => `${path}/owner.key`).filter(existsSync);
  expect(files).toHaveLength(1);
  const rows = await query(database.url, "select id from api_keys");
  expect(rows).toHaveLength(1);
  for (const { call } of servings) {
    expect(await call("GET", "/links", { key })).toMatchObject({ status: 200 });
  }
  const ended = await Promise.all(servings.map(({ stop }) => stop()));
  const said = ended.map(({ stderr }) => stderr);
  const named = said.filter((text) =>
    text.includes(`(the key is in ${hostname()}:${files[0]}, or`),
  );
  expect(named).toHaveLength(2);
  for (const text of said) expect(text).toMatch(inDatabase(database.url));
});

test("a first start with PostgreSQL reports that an existing waypost.db is not used", async () => {
  await using database = await takeEmptyDatabase();
  await using folder = await createFolder();
  await using alone = await startServe(folder.path);
  await alone.stop();
  const env = { WAYPOST_DATABASE_URL: database.url };
  const looked = await run(["doctor", "--data", folder.path], { env });
  const key = `${folder.path}/owner.key`;
  expect(looked.stdout).toMatch(
    new RegExp(`^ok +key +the first start uses the key in ${key}$`, "m"),
  );
  const said = `${folder.path}/waypost.db is not used. To move or delete its data, see`;
  for (let start = 0; start < 2; start += 1) {
    await using serving = await startServe(folder.path, [], { env });
    expect(serving.key).toBe(alone.key);
    expect((await serving.stop()).stderr).toContain(said);
  }
});

test("doctor shows which machine stores the owner's key for a shared database", async () => {
  await using database = await takeDatabase();
  await using one = await createFolder();
  await using two = await createFolder();
  const env = { WAYPOST_DATABASE_URL: database.url };
  await using first = await startServe(one.path, [], { env });
  const place = `the key is in ${hostname()}:${first.places.key_file}`;
  const words = ["doctor", "--data", two.path];

  // A machine that only runs `serve` needs no key.
  const without = await run(words, { env });
  expect(without).toMatchObject({ code: 0 });
  expect(without.stdout).toMatch(
    /^ok +key +waypost serve needs no key in \S+data; the key is in /m,
  );
  expect(without.stdout).toContain(`${place}, or create one with `);

  await mkdir(two.path, { mode: 0o700, recursive: true });
  const file = `${two.path}/owner.key`;
  await writeFile(file, `waypost_${"a".repeat(40)}\n`, { mode: 0o600 });
  const said = `the key in ${file} does not belong to this database; ${place}, or create one with `;
  await using second = await startServe(two.path, [], { env });
  expect(second.places.key_file).toBeNull();
  const told = await run(words, { env });
  expect(told).toMatchObject({ code: 1 });
  const { stderr } = await second.stop();
  for (const text of [told.stdout, stderr]) expect(text).toContain(said);
  expect(told.stdout).toMatch(
    /^FAULT key .* keys create --project default --data \S+ --database-url URL and write it into /m,
  );
  expect(told.stdout + stderr).not.toContain("aaaaa");

  // The machine in the database may be outdated.
  await first.stop();
  await rm(first.places.key_file);
  const lost = await run(["doctor", "--data", one.path], { env });
  expect(lost).toMatchObject({ code: 1 });
  expect(lost.stdout).toMatch(/^FAULT key +no key was found; create a key with .* keys create/m);
});
