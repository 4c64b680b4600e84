import { describe, expect, test } from "vitest";
import type { RowSource } from "../../../src/bulk/rows/read-rows.ts";
import { readSource } from "../read-source.ts";

/** Reading a source into checked rows for a plan. */

describe("reading rows", () => {
  test.each<[string, RowSource, string]>([
    ["an empty string", { csv: "" }, "It has no rows"],
    ["an empty list", { rows: [] }, "It has no rows"],
    ["not a list", { rows: "path" }, "Rows must be a list of objects"],
    ["an object without a list", { rows: { a: 1 } }, "Rows must be a list of objects"],
    ["an object with two lists", { rows: { a: [{}], b: [{}] } }, "Rows must be a list of objects"],
    ["only a CSV header", { csv: "path,url\n" }, "It has no rows"],
  ])("reports a problem if the source is %s", async (_, source, message) => {
    const { rows, findings } = await readSource(source);
    expect(rows).toEqual([]);
    expect(findings.problems).toMatchObject([{ message }]);
  });

  test("throws the original error if the file cannot be read completely", async () => {
    await expect(readSource({ csv: lost() })).rejects.toThrow("the disk is gone");
  });
});

async function* lost(): AsyncGenerator<string> {
  yield "path\na\n";
  throw new Error("the disk is gone");
}
