import * as fc from "fast-check";
import { expect, test } from "vitest";
import { joinPages, writePages, type ExportFormat } from "../../../src/bulk/files/write-links.ts";
import { readRows, type RowSource } from "../../../src/bulk/rows/read-rows.ts";
import { anyLink } from "../sample-links.ts";
import { drain, pour } from "../streams.ts";

/** Writing links in several parts as one file, and reading it back. */

const anyParts = fc.array(fc.array(anyLink, { maxLength: 3 }), { maxLength: 4 });

function openSource(format: ExportFormat, text: string): RowSource {
  return format === "csv" ? { csv: text } : { rows: JSON.parse(text) };
}

test.each(["csv", "json"] as const)(
  "a %s file that is written in parts contains each link once, in order",
  async (format) => {
    await fc.assert(
      fc.asyncProperty(anyParts, async (parts) => {
        const text = (await drain(joinPages(writePages(pour(parts), format, 3000), format))).join(
          "",
        );
        const rows = await drain(readRows(openSource(format, text), "upsert").rows);
        expect(rows.map(({ link_id }) => link_id)).toEqual(parts.flat().map(({ id }) => id));
      }),
    );
  },
);

test.each(["csv", "json"] as const)(
  "a page of a %s export stays within its limit of bytes for every alphabet",
  async (format) => {
    const mostBytes = 2000;
    const names = ["plain", "\u00e9".repeat(40), "\u6f22".repeat(40), "\u{1f600}".repeat(40)];
    const [sample] = fc.sample(anyLink, 1);
    if (sample === undefined) throw new Error("the sample is missing");
    const bare = { ...sample, url: "https://shop.example/" };
    const links = Array.from({ length: 60 }, (_, turn) => {
      const name = names[turn % names.length] ?? "";
      return { ...bare, id: `${turn}`, name, social_title: null, social_description: null };
    });
    const pages = await drain(writePages(pour([links]), format, mostBytes));
    expect(pages.length).toBeGreaterThan(3);
    expect(pages.map((page) => Buffer.byteLength(page) <= mostBytes)).toEqual(
      pages.map(() => true),
    );
  },
);

test("an export of a project without links is an empty JSON list or a CSV header", async () => {
  expect((await drain(joinPages(writePages(pour([]), "json", 10), "json"))).join("")).toBe("[]\n");
  expect((await drain(joinPages(writePages(pour([]), "csv", 10), "csv"))).join("")).toMatch(
    /^id,name,path,.*\r\n$/,
  );
});
