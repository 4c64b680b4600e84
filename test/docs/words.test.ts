import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { listSentences, pages, type DocPage } from "./pages.ts";

/** The lengths of pages and sentences in the documentation, and their links. */

const mostWords = 30;
const { files } = JSON.parse(readFileSync("package.json", "utf8"));
/** npm always packs the last two. */
const packed = new Set([...files, "README.md", "LICENSE"]);
const [readme = { path: "README.md", text: "" }, ...docs] = pages;

test("README.md has at most 250 lines", () => {
  expect(countLines(readme)).toBeLessThanOrEqual(250);
});

test("README.md links to every page in docs/", () => {
  expect(docs.filter(({ path }) => !readme.text.includes(`](${path})`))).toEqual([]);
});

test("CHANGELOG.md follows Keep a Changelog, with at most 30 lines under Added", () => {
  const [, unreleased = ""] = readFileSync("CHANGELOG.md", "utf8").split(/^## \[Unreleased\]$/m);
  const [, added = ""] = unreleased.split(/^### Added$/m);
  const lines = added.split(/^##/m)[0]?.trim().split("\n") ?? [];
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.length).toBeLessThanOrEqual(30);
});

describe.each(docs)("the page $path", (page) => {
  test("has at most 200 lines", () => {
    expect(countLines(page)).toBeLessThanOrEqual(200);
  });

  test("starts with a title and a sentence about the intended readers", () => {
    expect(page.text).toMatch(/^# [^\n]+\n\nFor /);
  });
});

describe.each(pages)("the text of $path", (page) => {
  test(`has no sentence longer than ${mostWords} words`, () => {
    const long = listSentences(page).filter((text) => text.split(" ").length > mostWords);
    expect(long).toEqual([]);
  });

  test("links only to files and headings that exist in the npm package", () => {
    const targets = [...page.text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, to = ""]) => to);
    expect(targets.filter((target) => !hasTarget(page, target))).toEqual([]);
  });
});

function countLines({ text }: DocPage): number {
  return text.trimEnd().split("\n").length;
}

function hasTarget({ path, text }: DocPage, target: string): boolean {
  const [file = "", heading] = target.split("#");
  const place = file === "" ? path : join(dirname(path), file);
  if (!existsSync(place) || !packed.has(place.split("/")[0] ?? "")) return false;
  if (heading === undefined) return true;
  const linked = file === "" ? text : readFileSync(place, "utf8");
  return [...linked.matchAll(/^#+ (.+)$/gm)].some(([, title = ""]) => slug(title) === heading);
}

/** GitHub's anchor for a heading. */
function slug(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}
