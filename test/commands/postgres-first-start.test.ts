import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { createFolder, startServe } from "../support/command.ts";
import { query, takeDatabase } from "../support/postgres.ts";

/** Many first starts at once on one database, each with a folder of its own. */

test("make one owner's key, which one of them writes and the others name", async () => {
  const database = await takeDatabase();
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
  const named = said.filter((text) => text.includes(`(key: ${hostname()}:${files[0]}, or make`));
  expect(named).toHaveLength(2);
  expect(said.filter((text) => text.includes(database.url))).toEqual([]);
  await database.giveBack();
});
