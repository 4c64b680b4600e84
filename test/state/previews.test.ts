import { readFile } from "node:fs/promises";
import { beforeEach, expect, test } from "vitest";
import type { State } from "../../src/state/state.ts";
import { openStateForEach } from "../support/state-folder.ts";
import { isOnPostgres } from "../support/store-place.ts";

/** Pages that a person looks at: by whom they are found, and for how long. */

const minute = 60_000;
const at = openStateForEach();
let state: State;

beforeEach(async () => {
  state = await at.open();
});

/** Each is a moment younger than the one before it. */
async function save(keyPrint: string, html = "<p>page</p>"): Promise<string> {
  at.now += 1;
  return state.previews.save(keyPrint, html);
}

test("a page is found by 128 random bits, by every process, as often as wanted", async () => {
  const tokens = [await save("one", "<p>first</p>"), await save("one", "<p>second</p>")];
  for (const token of tokens) expect(token).toMatch(/^[\w-]{22}$/);
  expect(new Set(tokens).size).toBe(2);
  const other = await at.open();
  for (const process of [state, other, state]) {
    const found = await Promise.all(tokens.map((token) => process.previews.find(token)));
    expect(found).toEqual(["<p>first</p>", "<p>second</p>"]);
  }
  for (const token of ["", "x", `${tokens[0]}x`]) {
    expect(await state.previews.find(token)).toBeUndefined();
  }
});

test.skipIf(isOnPostgres)("what finds a page does not stand in the file", async () => {
  const token = await save("one", "<p>in the file</p>");
  await state.close();
  const texts = await Promise.all(
    [at.file(), `${at.file()}-wal`].map((file) => readFile(file, "latin1").catch(() => "")),
  );
  const text = texts.join("");
  expect(text).toContain("<p>in the file</p>");
  expect(text).not.toContain(token);
});

test("a page is there for ten minutes, and then it is removed", async () => {
  const token = await save("one");
  at.now += 10 * minute - 1;
  await state.previews.removeEnded();
  expect(await state.previews.find(token)).toBeDefined();
  at.now += 1;
  expect(await state.previews.find(token)).toBeUndefined();
  await state.previews.removeEnded();
  // Even with the clock set back it does not come again.
  at.now -= minute;
  expect(await state.previews.find(token)).toBeUndefined();
});

test("of a key's pages the hundred newest are there, and other keys have their own", async () => {
  const other = await save("another");
  const tokens: string[] = [];
  for (let pages = 0; pages < 101; pages += 1) tokens.push(await save("one"));
  const kept = await Promise.all(
    tokens.map(async (token) => (await state.previews.find(token)) !== undefined),
  );
  expect(kept).toEqual([false, ...Array(100).fill(true)]);
  expect(await state.previews.find(other)).toBeDefined();
});
