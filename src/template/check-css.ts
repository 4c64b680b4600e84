import { parse, tokenize, tokenTypes, walk, type CssNode } from "css-tree";
import type { Sink } from "./check-liquid.ts";
import {
  findAddressFault,
  findAtRuleFault,
  findFunctionFault,
  findPropertyFault,
} from "./css-rules.ts";

/**
 * The CSS of a template, looked at twice: its tokens, for what a parser and a browser could read
 * differently (escapes, an end of the style element, what is never closed), and its tree.
 */

/** Each fault costs the parser dearly. */
const bounds = { depth: 16, tokens: 16_000, blocks: 1500, parseFaults: 200 } as const;

class EnoughFaults extends Error {
  override readonly name = "EnoughFaults";
}

export function checkCss(source: string, tell: Sink): void {
  const told = new Set<number>();
  const note = (offset: number, message: string) => {
    told.add(offset);
    tell(offset, message);
  };
  // Of what is too much no tree is made.
  if (!checkTokens(source, note)) return;
  // Where a token was told, the parser has nothing to add.
  const add = (offset: number, message: string) => {
    if (!told.has(offset)) tell(offset, message);
  };
  checkTree(source, { tell, add });
}

/** Whether there is no more of it than the parser is good for. */
function checkTokens(source: string, tell: Sink): boolean {
  let tokens = 0;
  let blocks = 0;
  let isTooMuch = false;
  const refuse = (offset: number, message: string) => {
    isTooMuch = true;
    tell(offset, message);
  };
  const open: { readonly closedBy: number; readonly start: number }[] = [];
  for (const { index } of source.matchAll(/</g)) {
    tell(index, "< is not allowed in CSS: write media queries with min-width and max-width.");
  }
  tokenize(source, (type, start, end) => {
    tokens += 1;
    if (type === tokenTypes.LeftCurlyBracket) blocks += 1;
    if (tokens === bounds.tokens + 1) {
      refuse(start, "There are too many words and signs in this CSS.");
    }
    if (blocks === bounds.blocks + 1 && type === tokenTypes.LeftCurlyBracket) {
      refuse(start, `CSS has at most ${bounds.blocks} pairs of braces.`);
    }
    const fault = findTokenFault(type, source.slice(start, end));
    if (fault !== undefined) tell(start, fault);
    const closedBy = closers.get(type);
    if (closedBy !== undefined) {
      open.push({ closedBy, start });
      if (open.length === bounds.depth + 1) {
        refuse(start, `Braces and brackets stand in each other at most ${bounds.depth} deep.`);
      }
    } else if (closing.has(type)) {
      const isMatch = open.at(-1)?.closedBy === type;
      if (isMatch) open.pop();
      else tell(start, `This ${source.slice(start, end)} closes nothing that is open here.`);
    }
  });
  for (const { start } of open) tell(start, "This is never closed.");
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
  if (type === tokenTypes.BadString) return "This text is never closed.";
  if (type === tokenTypes.BadUrl) return "This url() cannot be read.";
  if (type === tokenTypes.Comment) {
    return text.endsWith("*/") && text.length > 3 ? undefined : "This comment is never closed.";
  }
  if (type === tokenTypes.String) {
    const isClosed = text.length > 1 && text.endsWith(text.charAt(0));
    return isClosed ? undefined : "This text is never closed.";
  }
  // Whatever a parser makes of what stands around it.
  if (type === tokenTypes.AtKeyword && !text.includes("\\")) return findAtRuleFault(text.slice(1));
  // An escape outside of a text is another way to write a name, and nothing a page needs.
  return text.includes("\\") ? "Escapes are allowed in texts only." : undefined;
}

type Tell = {
  readonly tell: Sink;
  /** For what cannot be read, which has often been told better. */
  readonly add: Sink;
};

function checkTree(source: string, to: Tell): void {
  let faults = 0;
  try {
    const tree = parse(source, {
      positions: true,
      parseCustomProperty: true,
      onParseError: ({ message, offset }) => {
        to.add(offset, `CSS cannot be read here: ${message}.`);
        faults += 1;
        if (faults >= bounds.parseFaults) throw new EnoughFaults("enough");
      },
    });
    walk(tree, (node) => checkNode(node, 0, to));
  } catch (error) {
    const isEnough = error instanceof EnoughFaults;
    to.tell(0, isEnough ? "So much of this CSS cannot be read that the rest is not." : noCss);
  }
}

const noCss = "CSS cannot be read.";

function checkNode(node: CssNode, base: number, to: Tell): void {
  const offset = base + (node.loc?.start.offset ?? 0);
  const fault = findNodeFault(node);
  if (fault !== undefined) to.tell(offset, fault);
  // What stands in the brackets of a selector that the parser does not know is left as it is, and
  // looked at as a value; where a semicolon follows a semicolon there is nothing.
  if (node.type === "Raw" && node.value !== ";") checkRaw(node.value, offset, to);
}

function checkRaw(value: string, base: number, to: Tell): void {
  try {
    const tree = parse(value, {
      context: "value",
      positions: true,
      onParseError: ({ message, offset }) =>
        to.add(base + offset, `CSS cannot be read: ${message}.`),
    });
    walk(tree, (node) => {
      if (node.type === "Raw" && node.value === value) to.add(base, "This value cannot be read.");
      else checkNode(node, base, to);
    });
  } catch {
    to.add(base, "This value cannot be read.");
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
