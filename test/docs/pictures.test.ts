import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { listFiles } from "../support/folders.ts";
import { pages } from "./pages.ts";

/** The pictures that `npm run pictures` takes. */

const mostBytes = 150_000;
const signature = "89504e470d0a1a0a";
const pictures = listFiles("docs/images");
const shown = pages.flatMap(({ path, text }) =>
  [...text.matchAll(/!\[[^\]]+\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"/g)].map(([, link, source]) =>
    join(dirname(path), link ?? source ?? ""),
  ),
);

test.each(pictures)("%s is a PNG of at most 150 KB that is used on a page", (path) => {
  const bytes = readFileSync(path);
  expect(bytes.subarray(0, 8).toString("hex")).toBe(signature);
  expect(bytes.length).toBeLessThanOrEqual(mostBytes);
  expect(shown).toContain(path);
});

test("every image used on a page exists", () => {
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.filter((path) => !existsSync(path))).toEqual([]);
});

test("the MCP bundle's icon.png is 512 by 512 pixels", () => {
  expect(JSON.parse(readFileSync("manifest.json", "utf8")).icon).toBe("icon.png");
  const bytes = readFileSync("icon.png");
  expect(bytes.subarray(0, 8).toString("hex")).toBe(signature);
  expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([512, 512]);
});
