import { readFileSync } from "node:fs";
import { listFiles } from "../support/folders.ts";

/** The pages of the documentation: README.md and everything in docs/. */

export type DocPage = { readonly path: string; readonly text: string };

/** A fenced block of code. `line` is where its code starts. */
export type Block = {
  readonly path: string;
  readonly line: number;
  readonly language: string;
  readonly code: string;
};

export const pages: readonly DocPage[] = ["README.md", ...listFiles("docs")]
  .filter((path) => path.endsWith(".md"))
  .map((path) => ({ path, text: readFileSync(path, "utf8") }));

export const blocks: readonly Block[] = pages.flatMap(listBlocks);

function listBlocks({ path, text }: DocPage): readonly Block[] {
  const fences = text.matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm);
  return [...fences].map(({ index, 1: indent = "", 2: language = "", 3: code = "" }) => ({
    path,
    line: text.slice(0, index).split("\n").length + 1,
    language,
    code: code.replace(new RegExp(`^${indent}`, "gm"), ""),
  }));
}

/** The sentences of a page's paragraphs, list items and table cells, without code and headings. */
export function listSentences({ text }: DocPage): readonly string[] {
  const prose = text
    .replace(/^ *```[^]*?^ *```$/gm, "\n")
    .replace(/<!--[^]*?-->/g, "\n")
    .replace(/^#.*$|^\|[ :|-]+\|$/gm, "\n")
    .replace(/<[^>]+>/g, " ")
    .replace(/`[^`]+`/g, "code")
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  const parts = prose.split(/\n\s*\n|\n *(?:[-*]|\d+\.) |^ *(?:[-*]|\d+\.) |\||\n(?=\|)/m);
  return parts.flatMap((part) =>
    part
      .replace(/\s+/g, " ")
      .trim()
      .split(/(?<=[.!?]["”)*]*) (?=["“(*]*[A-Z`c])/)
      .filter((sentence) => sentence !== ""),
  );
}
