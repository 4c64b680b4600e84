import { parse, type SyntaxParseError } from "css-tree";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { style as approvalStyle } from "../../src/mcp/approval/page-shell.ts";
import { ownStyle, pageStyle } from "../../src/template/page-style.ts";
import { starter } from "../../src/template/starter-template.ts";

/** Browsers silently ignore invalid rules in a style sheet. */

const sheets = {
  approvalStyle,
  console: readFileSync("dist/console/page.css", "utf8"),
  editor: readFileSync("dist/console/editor.css", "utf8"),
  ownStyle,
  pageStyle,
  starter: starter.css,
};

test.each(Object.entries(sheets))("the style sheet %s has no syntax errors", (_, sheet) => {
  const faults: string[] = [];
  parse(sheet, {
    onParseError: ({ message, source, offset }: SyntaxParseError & SourcePosition) => {
      faults.push(`${message}: ${source.slice(Math.max(0, offset - 60), offset + 40)}`);
    },
  });
  expect(faults).toEqual([]);
});

type SourcePosition = { readonly source: string; readonly offset: number };
