import { Tokenizer, TypeGuards, type TagToken, type TopLevelToken } from "liquidjs";
import { engine, explainLiquid, readLiquid, tagNames } from "./liquid.ts";
import { countRounds, listVariables } from "./liquid-shape.ts";
import type { TemplateFault, ReportFault } from "./page-input.ts";
import { findVariableFault } from "./liquid-variables.ts";

/**
 * Checks a template's Liquid piece by piece, because liquidjs stops at the first fault. Also limits
 * the cost of rendering a page. Each loop iteration adds to this cost.
 */

/** A tag, output or comment in the source. A comment is one piece with its content. */
export type Piece = {
  readonly begin: number;
  readonly end: number;
  readonly kind: "output" | "comment" | "store_buttons" | "tag";
};

export type Pieces = {
  /** Sorted by position. Pieces do not overlap. */
  readonly pieces: readonly Piece[];
  /** True if the template is within the limits, so that liquidjs may parse it as a whole. */
  readonly isReadable: boolean;
};

const limits = {
  pieceLength: 1000,
  depth: 20,
  /** The maximum number of tags and outputs of a page, counted once per loop iteration. */
  steps: 500,
  /** The maximum number of source characters of a page, counted once per loop iteration. */
  characters: 96 * 1024,
} as const;

/** For each kind of block, the tags that may divide it, such as `else`. */
const blocks: Readonly<Record<string, readonly string[]>> = {
  case: ["when", "else"],
  comment: [],
  for: ["else"],
  if: ["elsif", "else"],
  unless: ["elsif", "else"],
};

type OpenBlock = {
  readonly name: string;
  readonly begin: number;
  readonly rounds: number;
  hasElse: boolean;
};

type LiquidCheck = {
  readonly source: string;
  readonly report: ReportFault;
  readonly open: OpenBlock[];
  readonly locals: ReadonlySet<string>;
  steps: number;
  characters: number;
  /** True once a limit is exceeded. Then no more pieces are parsed. */
  isOver: boolean;
  hasButtons: boolean;
  readonly pieces: Piece[];
};

export function checkLiquid(source: string, report: ReportFault): Pieces {
  const { tokens, isWhole } = readTokens(source, report);
  const check: LiquidCheck = {
    source,
    report,
    open: [],
    locals: listLocals(tokens),
    steps: 0,
    characters: 0,
    isOver: false,
    hasButtons: false,
    pieces: [],
  };
  for (const token of tokens) {
    measure(token, check);
    checkToken(token, check);
    addPiece(token, check);
  }
  for (const { name, begin } of check.open) report(begin, `{% ${name} %} is never closed.`);
  checkButtons(check, isWhole);
  return { pieces: check.pieces, isReadable: isWhole && !check.isOver };
}

function checkButtons(check: LiquidCheck, isWhole: boolean): void {
  const [first, ...more] = check.pieces.filter(({ kind }) => kind === "store_buttons");
  // If a piece could not be read, it may contain the buttons, so missing buttons are not reported.
  if (isWhole && !check.hasButtons) check.report(first?.begin ?? 0, needsButtons);
  for (const { begin } of more) check.report(begin, "{% store_buttons %} can appear only once.");
}

const needsButtons = "The body needs {% store_buttons %} at the top level, not inside another tag.";

function isTag(token: TopLevelToken): token is TagToken {
  return TypeGuards.isTagToken(token);
}

function addPiece(token: TopLevelToken, { open, pieces }: LiquidCheck): void {
  const { begin, end } = token;
  const isEnd = isTag(token) && token.name === "endcomment";
  const isComment = isEnd || open.at(-1)?.name === "comment";
  const last = pieces.at(-1);
  if (isComment && last?.kind === "comment" && last.end === begin) {
    pieces[pieces.length - 1] = { ...last, end };
  } else if (isTag(token)) {
    const kind = token.name === "store_buttons" ? "store_buttons" : "tag";
    pieces.push({ begin, end, kind: isComment ? "comment" : kind });
  } else if (TypeGuards.isOutputToken(token)) {
    pieces.push({ begin, end, kind: "output" });
  }
}

/**
 * Splits the source as liquidjs does, but continues after a tag without a name. Stops at an
 * unclosed piece.
 */
function readTokens(
  source: string,
  report: ReportFault,
): { readonly tokens: readonly TopLevelToken[]; readonly isWhole: boolean } {
  const { operators } = engine.options;
  let tokenizer = new Tokenizer(source, operators);
  const tokens: TopLevelToken[] = [];
  let isWhole = true;
  while (tokenizer.p < tokenizer.N) {
    const begin = tokenizer.p;
    try {
      tokens.push(tokenizer.readTopLevelToken(engine.options));
    } catch {
      isWhole = false;
      const isOutput = source.startsWith("{{", begin);
      const end = isOutput ? "}}" : "%}";
      const isOpen = tokenizer.p >= tokenizer.N && !source.endsWith(end);
      report(begin, isOpen ? `This ${isOutput ? "{{" : "{%"} has no closing ${end}.` : noName);
    }
    // After {% raw %}, the old tokenizer would skip everything up to {% endraw %}.
    const last = tokens.at(-1);
    if (last !== undefined && isTag(last) && last.name === "raw" && last.begin === begin) {
      tokenizer = new Tokenizer(source, operators, undefined, [last.end, source.length]);
    }
  }
  return { tokens, isWhole };
}

const noName = "A tag must start with its name.";

function listLocals(tokens: readonly TopLevelToken[]): ReadonlySet<string> {
  const names = tokens.filter(isTag).flatMap(({ name, args }) => {
    const [made = ""] = /^[\w-]+/.exec(args) ?? [];
    return name === "assign" || name === "for" ? [made] : [];
  });
  return new Set([...names, "forloop"]);
}

function checkToken(token: TopLevelToken, check: LiquidCheck): void {
  const { open, report } = check;
  if (open.at(-1)?.name === "comment" && !(isTag(token) && token.name === "endcomment")) return;
  if (TypeGuards.isHTMLToken(token)) return;
  if (token.end - token.begin > limits.pieceLength) {
    report(token.begin, `A tag or output can have at most ${limits.pieceLength} characters.`);
  } else if (isTag(token)) {
    checkTag(token, check);
  } else {
    checkPiece(token, check);
  }
}

/** Adds a token to the cost of the page, until a limit is exceeded. */
function measure(token: TopLevelToken, check: LiquidCheck): void {
  if (check.isOver) return;
  const rounds = check.open.reduce((product, block) => product * block.rounds, 1);
  if (!TypeGuards.isHTMLToken(token)) check.steps += rounds;
  check.characters += rounds * (token.end - token.begin);
  const fault = findExcess(check);
  if (fault === undefined) return;
  check.isOver = true;
  check.report(token.begin, fault);
}

function findExcess({ open, steps, characters }: LiquidCheck): string | undefined {
  if (open.length > limits.depth) {
    return `Blocks can be nested at most ${limits.depth} levels deep.`;
  }
  if (steps <= limits.steps && characters <= limits.characters) return undefined;
  const most = `${limits.steps} tags and outputs and ${limits.characters} characters`;
  return `The template is too long. Counting each round of a loop, it can have at most ${most}.`;
}

function checkTag(token: TagToken, check: LiquidCheck): void {
  const { name, begin } = token;
  const { open, report } = check;
  if (Object.hasOwn(blocks, name)) {
    const rounds = checkPiece(token, check);
    open.push({ name, begin, rounds, hasElse: false });
  } else if (name.startsWith("end") && Object.hasOwn(blocks, name.slice(3))) {
    closeBlock(token, check);
  } else if (["else", "elsif", "when"].includes(name)) {
    checkBranch(token, check);
  } else if (name === "break" || name === "continue") {
    const isPlaced = open.some((block) => block.name === "for");
    if (!isPlaced) report(begin, `{% ${name} %} only works inside {% for %}.`);
    checkNoArguments(token, check);
  } else if (name === "store_buttons") {
    check.hasButtons ||= open.length === 0;
    checkNoArguments(token, check);
  } else if (tagNames.includes(name)) {
    checkPiece(token, check);
  } else {
    report(begin, describeUnknown(name));
  }
}

function checkBranch(token: TagToken, check: LiquidCheck): void {
  const { name, begin } = token;
  const { open, report } = check;
  const block = open.at(-1);
  if (block === undefined || blocks[block.name]?.includes(name) !== true) {
    return report(begin, `{% ${name} %} is not allowed here.`);
  }
  if (block.hasElse) report(begin, `{% ${name} %} comes after {% else %}, which must be last.`);
  block.hasElse ||= name === "else";
  if (name === "else") checkNoArguments(token, check);
  else checkPiece(token, check);
}

function describeUnknown(name: string): string {
  return `The tag ${name.slice(0, 50)} does not exist. Use one of: ${tagNames.join(", ")}.`;
}

/** Closes a block, and reports blocks inside it that are still open. */
function closeBlock(token: TagToken, check: LiquidCheck): void {
  const { name, begin } = token;
  const { open, report } = check;
  checkNoArguments(token, check);
  const index = open.findLastIndex((block) => `end${block.name}` === name);
  if (index < 0) return report(begin, `{% ${name} %} has no opening tag.`);
  for (const left of open.splice(index).slice(1)) {
    report(left.begin, `{% ${left.name} %} is not closed before {% ${name} %}.`);
  }
}

function checkNoArguments({ name, args, begin }: TagToken, { report }: LiquidCheck): void {
  if (args.trim() !== "") report(begin, `{% ${name} %} takes no arguments.`);
}

/** Returns the tags that a piece needs around it so that liquidjs can parse it separately. */
function wrapPiece(token: TopLevelToken): readonly [before: string, after: string] {
  const name = isTag(token) ? token.name : "";
  if (Object.hasOwn(blocks, name)) return ["", `{% end${name} %}`];
  if (name === "elsif") return ["{% if true %}", "{% endif %}"];
  return name === "when" ? ["{% case 1 %}", "{% endcase %}"] : ["", ""];
}

/** Parses a piece separately. Returns how many times a loop runs, or 1 for any other piece. */
function checkPiece(token: TopLevelToken, { source, report, locals, isOver }: LiquidCheck): number {
  if (isOver) return 1;
  const [before, after] = wrapPiece(token);
  const piece = source.slice(token.begin, token.end);
  const isLoop = isTag(token) && token.name === "for";
  const { faults, rounds } = readPiece(before + piece + after, isLoop, locals);
  for (const { offset, message } of faults) {
    const inside = Math.min(Math.max(offset - before.length, 0), piece.length - 1);
    report(token.begin + inside, message);
  }
  return rounds;
}

type CheckedPiece = { readonly faults: readonly TemplateFault[]; readonly rounds: number };

function readPiece(text: string, isLoop: boolean, locals: ReadonlySet<string>): CheckedPiece {
  try {
    const { templates, faults } = readLiquid(text);
    const unknown = listVariables(templates).flatMap(({ offset, segments }) => {
      const message = locals.has(String(segments[0])) ? undefined : findVariableFault(segments);
      return message === undefined ? [] : [{ offset, message }];
    });
    return { faults: [...faults, ...unknown], rounds: isLoop ? countRounds(templates) : 1 };
  } catch (error) {
    return { faults: [explainLiquid(error)], rounds: 1 };
  }
}
