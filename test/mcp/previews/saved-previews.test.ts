import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { createPreviews } from "../../../src/mcp/previews/preview-pages.ts";
import { openStateForEach } from "../../support/store-place.ts";

/** Tests how rendered previews are stored. */

const at = openStateForEach();

test("a preview larger than one megabyte is not stored", async () => {
  const { save } = createPreviews((await at.open()).kept);
  expect(await save("key", "x".repeat(1024 * 1024))).toBeDefined();
  expect(await save("key", "x".repeat(1024 * 1024 + 1))).toBeUndefined();
});

test("a preview is stored without the token that is part of its URL", async () => {
  const state = await at.open();
  const token = (await createPreviews(state.kept).save("key", "<p>in the file</p>")) ?? "";
  await state.close();
  const texts = await Promise.all(
    [at.file(), `${at.file()}-wal`].map((file) => readFile(file, "latin1").catch(() => "")),
  );
  expect(texts.join("")).toContain("<p>in the file</p>");
  expect(texts.join("")).not.toContain(token);
});
