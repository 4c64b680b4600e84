import { expect, test } from "vitest";
import { joinPages, writePages, writeWhole } from "../../../src/bulk/files/write-links.ts";
import { link } from "../../contract/sample-link.ts";
import { readSource } from "../read-source.ts";
import { drain, pour } from "../streams.ts";

/** Tests writing links to a file, whole and as pages. */

test.each(["csv", "json"] as const)(
  "a page of a %s export stays within its byte limit even if names are not ASCII",
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

test.each(["csv", "json"] as const)(
  "a %s export has the same content whether it is written whole or in pages",
  async (format) => {
    const links = Array.from({ length: 20 }, (_, turn) => ({ ...link, id: `${turn}` }));
    const write = () => pour([links.slice(0, 7), [], links.slice(7)]);
    const whole = (await drain(writeWhole(write(), format))).join("");
    const pages = writePages(write(), format, 2000);
    expect((await drain(joinPages(pages, format))).join("")).toBe(whole);
    const { rows } = await readSource(
      format === "csv" ? { csv: whole } : { rows: JSON.parse(whole) },
    );
    expect(rows.map(({ link_id }) => link_id)).toEqual(links.map(({ id }) => id));
  },
);

test("an export of a project without links is an empty JSON list or a CSV header", async () => {
  for (const write of [
    writeWhole,
    (...[parts, format]: Parameters<typeof writeWhole>) =>
      joinPages(writePages(parts, format, 10), format),
  ]) {
    expect((await drain(write(pour([]), "json"))).join("")).toBe("[]\n");
    expect((await drain(write(pour([]), "csv"))).join("")).toMatch(/^id,name,path,.*\r\n$/);
  }
});
