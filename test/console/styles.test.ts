import { parse, type SyntaxParseError } from "css-tree";
import { expect, test } from "vitest";
import { style as approvalStyle } from "../../src/mcp/approval/page-shell.ts";
import { ownStyle, pageStyle } from "../../src/template/page-style.ts";
import { starter } from "../../src/template/starter-template.ts";
import { devices } from "../../src/console/style-devices.ts";
import { editor } from "../../src/console/style-editor.ts";
import { style as consoleStyle } from "../../src/console/style.ts";

/** A browser passes over what it cannot read of a style sheet, and says nothing. */

const sheets = {
  approvalStyle,
  consoleStyle,
  devices,
  editor,
  ownStyle,
  pageStyle,
  starter: starter.css,
};

test.each(Object.entries(sheets))("every rule of %s can be read", (_, sheet) => {
  const faults: string[] = [];
  parse(sheet, {
    onParseError: ({ message, source, offset }: SyntaxParseError & Placed) => {
      faults.push(`${message}: ${source.slice(Math.max(0, offset - 60), offset + 40)}`);
    },
  });
  expect(faults).toEqual([]);
});

type Placed = { readonly source: string; readonly offset: number };
