import { randomBytes } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { findExportPage, saveExportPages } from "../../src/state/expiring-values.ts";
import type { ExpiringValues } from "../../src/state/expiring-values.ts";
import { openStateForEach } from "../support/store-place.ts";

/** Exported files of links: which key may read them, and for how long. */

const at = openStateForEach();
let kept: ExpiringValues;

beforeEach(async () => {
  ({ kept } = await at.open());
});

async function* pour(texts: readonly string[], fault?: Error) {
  yield* texts;
  if (fault !== undefined) throw fault;
}

/** Saves a file with a later time than the previous file. */
async function save(owner: string, texts = ["text"], fault?: Error): Promise<string> {
  at.now += 1;
  const clock = { now: () => at.now, monotonic: () => 0 };
  const random = { bytes: (count: number) => randomBytes(count) };
  const file = { type: "text/csv", texts: pour(texts, fault) };
  return (await saveExportPages(() => Promise.resolve(kept), file, owner, { clock, random })).id;
}

const isKept = async (owner: string, id: string) =>
  (await findExportPage(kept, owner, id, 1)) !== undefined;

test("an exported file can be read in pages, but only with the key that exported it", async () => {
  const id = await save("key", ["first", "second"]);
  expect(id).toMatch(/^export_[\w-]{22}$/);
  const pages = [1, 2, 3].map((page) => findExportPage(kept, "key", id, page));
  expect(await Promise.all(pages)).toEqual([
    { type: "text/csv", text: "first" },
    { type: "text/csv", text: "second" },
    undefined,
  ]);
  expect(await isKept("another key", id)).toBe(false);
});

test("an exported file is deleted after an hour", async () => {
  const id = await save("key");
  at.now += 60 * 60_000 - 1;
  expect(await isKept("key", id)).toBe(true);
  at.now += 1;
  expect(await isKept("key", id)).toBe(false);
});

test("only a key's ten newest exported files are kept, however many pages they have", async () => {
  const theirs = await save("another key");
  const ids: string[] = [];
  for (let files = 0; files < 11; files += 1) ids.push(await save("key", ["a", "b", "c"]));
  const found = await Promise.all(ids.map((id) => isKept("key", id)));
  expect(found).toEqual([false, ...Array(10).fill(true)]);
  expect(await isKept("another key", theirs)).toBe(true);
});

test("an export that fails partway stores no rows", async () => {
  await expect(save("key", ["a", "b"], new Error("it ended"))).rejects.toThrow("it ended");
  const { db } = await at.openSql();
  expect(await db.selectFrom("kept_values").select("key").execute()).toEqual([]);
});
