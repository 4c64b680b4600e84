import { expect, test } from "vitest";
import { joinPages, writePages } from "../../../src/bulk/files/write-links.ts";
import { link } from "../../contract/sample-link.ts";
import { drain, pour } from "../streams.ts";

/** Writing links as the pages of one file. */

test.each(["csv", "json"] as const)(
  "a page of a %s export stays within its limit of bytes for every alphabet",
  async (format) => {
    const mostBytes = 2000;
    const names = ["plain", "\u00e9".repeat(40), "\u6f22".repeat(40), "\u{1f600}".repeat(40)];
    const links = Array.from({ length: 60 }, (_, turn) => {
      const name = names[turn % names.length] ?? "";
      return { ...link, id: `${turn}`, name };
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
