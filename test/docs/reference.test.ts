import { expect, test } from "vitest";
import { renderReference } from "../tools/docs.ts";

/** The reference pages that are generated from the code. */
test("the tables in docs/reference are up to date (if not, run npm run docs)", async () => {
  for (const { path, text, rendered } of await renderReference()) expect(text, path).toBe(rendered);
});
