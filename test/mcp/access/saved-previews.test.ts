import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createPreviews } from "../../../src/mcp/access/saved-previews.ts";
import { openStateForEach } from "../../support/store-place.ts";

/** Pages that a person looks at: who can find them, and for how long. */

const at = openStateForEach();

test("a page is found by 128 random bits, by every process, for ten minutes", async () => {
  const one = createPreviews((await at.open()).kept);
  const other = createPreviews((await at.open()).kept);
  const tokens = [await one.save("key", "<p>first</p>"), await one.save("key", "<p>second</p>")];
  for (const token of tokens) expect(token).toMatch(/^[\w-]{22}$/);
  for (const process of [one, other, one]) {
    const found = [await process.find(tokens[0] ?? ""), await process.find(tokens[1] ?? "")];
    expect(found).toEqual(["<p>first</p>", "<p>second</p>"]);
  }
  for (const token of ["", "x", `${tokens[0]}x`]) expect(await one.find(token)).toBeUndefined();
  at.now += 10 * 60_000;
  for (const token of tokens) expect(await other.find(token ?? "")).toBeUndefined();
});

test("a page over a megabyte is not saved", async () => {
  const { save } = createPreviews((await at.open()).kept);
  expect(await save("key", "x".repeat(1024 * 1024))).toBeDefined();
  expect(await save("key", "x".repeat(1024 * 1024 + 1))).toBeUndefined();
});

test("the token that opens a page is not in the file", async () => {
  const state = await at.open();
  const token = (await createPreviews(state.kept).save("key", "<p>in the file</p>")) ?? "";
  await state.close();
  const texts = await Promise.all(
    [at.file(), `${at.file()}-wal`].map((file) => readFile(file, "latin1").catch(() => "")),
  );
  expect(texts.join("")).toContain("<p>in the file</p>");
  expect(texts.join("")).not.toContain(token);
});
