import { parse, tokenize, tokenTypes, walk, type CssNode } from "css-tree";
import type { ReportFault } from "./page-input.ts";
import { pictureData } from "./html-rules.ts";
import { listWords } from "./split-words.ts";

/**
 * Checks a template's CSS in two passes. The first pass reads the tokens, and finds text that the
 * parser and browsers could read differently: escapes, an end of the style element, unclosed parts.
 * The second pass reads the parsed tree, and checks which rules, properties and functions are used.
 */

/** Limits for the parser, which becomes slow for large CSS and for CSS with many errors. */
const limits = { depth: 16, tokens: 16_000, blocks: 1500, parseFaults: 200 } as const;

class TooManyFaults extends Error {
  override readonly name = "TooManyFaults";
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

/** Checks the tokens. Returns whether the CSS is small enough for the parser. */
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
  // Checked in both passes, because the parser may drop an at-rule with the text around it.
  if (type === tokenTypes.AtKeyword && !text.includes("\\")) return findAtRuleFault(text.slice(1));
  // Escapes could disguise a forbidden name, so they are only allowed in strings.
  return text.includes("\\") ? "Backslashes are only allowed in strings." : undefined;
}

type CssReports = {
  readonly report: ReportFault;
  /** Reports text that the parser cannot read, unless a fault was already reported there. */
  readonly reportUnread: ReportFault;
};

function checkTree(source: string, to: CssReports): void {
  let faults = 0;
  try {
    const tree = parse(source, {
      positions: true,
      parseCustomProperty: true,
      onParseError: ({ message, offset }) => {
        to.reportUnread(offset, `CSS syntax error: ${message}.`);
        faults += 1;
        if (faults >= limits.parseFaults) throw new TooManyFaults("enough");
      },
    });
    walk(tree, (node) => checkNode(node, 0, to));
  } catch (error) {
    const hasTooMany = error instanceof TooManyFaults;
    to.report(0, hasTooMany ? "The CSS has too many errors. Fix the ones above first." : noCss);
  }
}

const noCss = "The CSS is not valid.";
const noValue = "This value is not valid.";

function checkNode(node: CssNode, base: number, to: CssReports): void {
  const offset = base + (node.loc?.start.offset ?? 0);
  const fault = findNodeFault(node);
  if (fault !== undefined) to.report(offset, fault);
  // The parser returns an unknown selector in brackets as raw text, which is checked as a value.
  // A repeated semicolon is raw text too, but needs no check.
  if (node.type === "Raw" && node.value !== ";") checkRaw(node.value, offset, to);
}

function checkRaw(value: string, base: number, to: CssReports): void {
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

/**
 * The at-rules, properties and functions that a template may use. None of them loads anything, and
 * images must be data: URLs.
 */

const atRules = listWords("media supports container layer keyframes -webkit-keyframes");

const atRuleReasons: Readonly<Record<string, string>> = {
  import: "a page cannot load other style sheets",
  "font-face": "a page cannot load fonts; use a system font",
  charset: "pages are always UTF-8",
};

/** The prefixes of allowed property families. `properties` lists all other allowed properties. */
const propertyFamilies = new RegExp(
  `^(?:${[
    ...listWords(
      "align animation background border break column contain container counter flex font grid",
      "hyphen(?:s|ate) inset justify letter line list-style margin mask max min object offset",
      "outline overflow overscroll padding page-break place scroll scrollbar stroke text",
      "transform transition word",
    ),
  ].join("|")})(?:-[a-z-]+)?$`,
);

const properties = listWords(
  "accent-color all appearance aspect-ratio backdrop-filter backface-visibility block-size",
  "box-orient osx-font-smoothing tap-highlight-color touch-callout",
  "bottom box-decoration-break box-shadow box-sizing caption-side caret-color clear clip",
  "clip-path color color-scheme columns content content-visibility cursor direction display",
  "empty-cells fill fill-opacity fill-rule filter",
  "float forced-color-adjust gap height hyphens image-rendering initial-letter inline-size",
  "isolation left mix-blend-mode opacity order orphans perspective perspective-origin",
  "pointer-events position print-color-adjust quotes resize right rotate row-gap scale",
  "shape-image-threshold shape-margin shape-outside tab-size table-layout top touch-action",
  "translate unicode-bidi user-select vertical-align visibility white-space widows width",
  "will-change writing-mode z-index zoom",
);

const functions = listWords(
  "abs acos asin atan atan2 attr blur brightness calc circle clamp color color-mix",
  "conic-gradient contrast cos counter counters cubic-bezier drop-shadow ellipse env exp",
  "fit-content grayscale hsl hsla hue-rotate hwb hypot inset invert lab lch light-dark linear",
  "linear-gradient log matrix matrix3d max min minmax mod oklab oklch opacity path perspective",
  "polygon pow radial-gradient rect rem repeat repeating-conic-gradient",
  "repeating-linear-gradient repeating-radial-gradient rgb rgba rotate rotate3d rotatex rotatey",
  "rotatez round saturate scale scale3d scalex scaley scalez sepia sign sin skew skewx skewy",
  "sqrt steps tan translate translate3d translatex translatey translatez var xywh",
);

function findAtRuleFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (atRules.has(lower)) return undefined;
  const reason = Object.hasOwn(atRuleReasons, lower) ? atRuleReasons[lower] : undefined;
  return `@${showName(name)} is not allowed${reason === undefined ? "" : `: ${reason}`}.`;
}

function findPropertyFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (/^--[\w-]+$/.test(lower)) return undefined;
  const plain = lower.replace(/^-(?:webkit|moz)-/, "");
  const isKnown = propertyFamilies.test(plain) || properties.has(plain);
  return isKnown ? undefined : `The property ${showName(name)} is not allowed.`;
}

function findFunctionFault(name: string): string | undefined {
  const plain = name.toLowerCase().replace(/^-(?:webkit|moz)-/, "");
  return functions.has(plain) ? undefined : `The function ${showName(name)}() is not allowed.`;
}

function findAddressFault(address: string): string | undefined {
  return pictureData.test(address) ? undefined : "url() accepts only a data: address of an image.";
}

function showName(name: string): string {
  return /^[\w-]{1,50}$/.test(name) ? name : "…";
}
