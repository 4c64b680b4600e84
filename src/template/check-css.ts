import { parse, tokenize, tokenTypes, walk, type CssNode } from "css-tree";
import type { ReportFault } from "./page-input.ts";
import {
  findAddressFault,
  findAtRuleFault,
  findFunctionFault,
  findPropertyFault,
} from "./css-rules.ts";

/**
 * Checks the CSS of a template twice: its tokens, for what a parser and a browser could read
 * differently (escapes, an end of the style element, what is never closed), and its tree.
 */

/** Each fault costs the parser dearly. */
const limits = { depth: 16, tokens: 16_000, blocks: 1500, parseFaults: 200 } as const;

class EnoughFaults extends Error {
  override readonly name = "EnoughFaults";
}

export function checkCss(source: string, report: ReportFault): void {
  const reported = new Set<number>();
  const isParsable = checkTokens(source, (offset, message) => {
    reported.add(offset);
    report(offset, message);
  });
  if (!isParsable) return;
  const reportUnread: ReportFault = (offset, message) => {
    if (!reported.has(offset)) report(offset, message);
  };
  checkTree(source, { report, reportUnread });
}

/** Whether there is no more of it than the parser can read in time. */
function checkTokens(source: string, report: ReportFault): boolean {
  let tokens = 0;
  let blocks = 0;
  let isTooMuch = false;
  const refuse = (offset: number, message: string) => {
    isTooMuch = true;
    report(offset, message);
  };
  const open: { readonly closedBy: number; readonly start: number }[] = [];
  for (const { index } of source.matchAll(/</g)) {
    report(index, "< is not allowed in CSS: write media queries with min-width and max-width.");
  }
  tokenize(source, (type, start, end) => {
    tokens += 1;
    if (type === tokenTypes.LeftCurlyBracket) blocks += 1;
    if (tokens === limits.tokens + 1) {
      refuse(start, "The CSS is too long. Remove some of it.");
    }
    if (blocks === limits.blocks + 1 && type === tokenTypes.LeftCurlyBracket) {
      refuse(start, `CSS can have at most ${limits.blocks} blocks in braces.`);
    }
    const fault = findTokenFault(type, source.slice(start, end));
    if (fault !== undefined) report(start, fault);
    const closedBy = closers.get(type);
    if (closedBy !== undefined) {
      open.push({ closedBy, start });
      if (open.length === limits.depth + 1) {
        refuse(start, `Braces and brackets can be nested at most ${limits.depth} levels deep.`);
      }
    } else if (closing.has(type)) {
      const isMatch = open.at(-1)?.closedBy === type;
      if (isMatch) open.pop();
      else report(start, `This ${source.slice(start, end)} has no opening bracket.`);
    }
  });
  for (const { start } of open) report(start, "This bracket is never closed.");
  return !isTooMuch;
}

const closers: ReadonlyMap<number, number> = new Map([
  [tokenTypes.LeftCurlyBracket, tokenTypes.RightCurlyBracket],
  [tokenTypes.LeftSquareBracket, tokenTypes.RightSquareBracket],
  [tokenTypes.LeftParenthesis, tokenTypes.RightParenthesis],
  [tokenTypes.Function, tokenTypes.RightParenthesis],
]);
const closing: ReadonlySet<number> = new Set(closers.values());

function findTokenFault(type: number, text: string): string | undefined {
  if (type === tokenTypes.BadString) return "This string is never closed.";
  if (type === tokenTypes.BadUrl) return "This url() is not valid.";
  if (type === tokenTypes.Comment) {
    return text.endsWith("*/") && text.length > 3 ? undefined : "This comment is never closed.";
  }
  if (type === tokenTypes.String) {
    const isClosed = text.length > 1 && text.endsWith(text.charAt(0));
    return isClosed ? undefined : "This string is never closed.";
  }
  // Looked at here as well, because a parser may drop it with what stands around it.
  if (type === tokenTypes.AtKeyword && !text.includes("\\")) return findAtRuleFault(text.slice(1));
  // An escape outside of a text is another way to write a name, and nothing a page needs.
  return text.includes("\\") ? "Backslashes are only allowed in strings." : undefined;
}

type Reports = {
  readonly report: ReportFault;
  /** For what the parser cannot read; silent where its token was reported, which says it better. */
  readonly reportUnread: ReportFault;
};

function checkTree(source: string, to: Reports): void {
  let faults = 0;
  try {
    const tree = parse(source, {
      positions: true,
      parseCustomProperty: true,
      onParseError: ({ message, offset }) => {
        to.reportUnread(offset, `CSS syntax error: ${message}.`);
        faults += 1;
        if (faults >= limits.parseFaults) throw new EnoughFaults("enough");
      },
    });
    walk(tree, (node) => checkNode(node, 0, to));
  } catch (error) {
    const isEnough = error instanceof EnoughFaults;
    to.report(0, isEnough ? "The CSS has too many errors. Fix the ones above first." : noCss);
  }
}

const noCss = "The CSS is not valid.";
const noValue = "This value is not valid.";

function checkNode(node: CssNode, base: number, to: Reports): void {
  const offset = base + (node.loc?.start.offset ?? 0);
  const fault = findNodeFault(node);
  if (fault !== undefined) to.report(offset, fault);
  // The parser leaves the brackets of a selector that it does not know as they are, so they are
  // checked as a value. A semicolon alone comes of two in a row.
  if (node.type === "Raw" && node.value !== ";") checkRaw(node.value, offset, to);
}

function checkRaw(value: string, base: number, to: Reports): void {
  try {
    const tree = parse(value, {
      context: "value",
      positions: true,
      onParseError: ({ message, offset }) =>
        to.reportUnread(base + offset, `CSS syntax error: ${message}.`),
    });
    walk(tree, (node) => {
      if (node.type === "Raw" && node.value === value) to.reportUnread(base, noValue);
      else checkNode(node, base, to);
    });
  } catch {
    to.reportUnread(base, noValue);
  }
}

function findNodeFault(node: CssNode): string | undefined {
  switch (node.type) {
    case "Atrule":
      return findAtRuleFault(node.name);
    case "Declaration":
      return findPropertyFault(node.property);
    case "Function":
      return findFunctionFault(node.name);
    case "Url":
      return findAddressFault(node.value);
    default:
      return undefined;
  }
}
