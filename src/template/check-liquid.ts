import { Tokenizer, TypeGuards, type TagToken, type TopLevelToken } from "liquidjs";
import { explainLiquid } from "./explain-liquid.ts";
import { engine, readLiquid, tagNames } from "./liquid.ts";
import { countRounds, listVariables, type Fault } from "./liquid-shape.ts";
import { findVariableFault } from "./variables.ts";

/**
 * The Liquid of a template, piece by piece, so that each fault is found and none hides another:
 * liquidjs itself ends at the first. What a page may cost is measured here as well, from the
 * source alone: each piece, as often as the loops around it go round.
 */

export type Sink = (offset: number, message: string) => void;

/** What is no HTML of the author's: a comment is one piece, from its beginning to its end. */
export type Piece = {
  readonly begin: number;
  readonly end: number;
  readonly kind: "output" | "comment" | "store_buttons" | "tag";
};

export type Pieces = {
  /** In the order of the source, none in another. */
  readonly painted: readonly Piece[];
  /** Whether the whole may be parsed by liquidjs: it is not too much. */
  readonly isReadable: boolean;
};

const bounds = {
  pieceLength: 1000,
  depth: 20,
  /** Tags and outputs of one page, each as often as it is carried out. */
  steps: 500,
  /** Source of one page, each piece as often as it is carried out. */
  characters: 96 * 1024,
} as const;

/** What stands between the beginning and the end of a block. */
const blocks: Readonly<Record<string, readonly string[]>> = {
  case: ["when", "else"],
  comment: [],
  for: ["else"],
  if: ["elsif", "else"],
  unless: ["elsif", "else"],
};

type Block = {
  readonly name: string;
  readonly begin: number;
  readonly rounds: number;
  hasElse: boolean;
};

type Walk = {
  readonly source: string;
  readonly tell: Sink;
  readonly open: Block[];
  /** Names that the template makes itself. */
  readonly locals: ReadonlySet<string>;
  steps: number;
  characters: number;
  /** It is too much: no further piece is parsed. */
  isOver: boolean;
  hasButtons: boolean;
  readonly painted: Piece[];
};

/** Tells every fault, and answers what stands where. */
export function checkLiquid(source: string, tell: Sink): Pieces {
  const { tokens, isWhole } = readTokens(source, tell);
  const walk: Walk = {
    source,
    tell,
    open: [],
    locals: listLocals(tokens),
    steps: 0,
    characters: 0,
    isOver: false,
    hasButtons: false,
    painted: [],
  };
  for (const token of tokens) {
    measure(token, walk);
    checkToken(token, walk);
    paint(token, walk);
  }
  for (const { name, begin } of walk.open) tell(begin, `{% ${name} %} is never closed.`);
  checkButtons(walk, isWhole);
  return { painted: walk.painted, isReadable: isWhole && !walk.isOver };
}

function checkButtons(walk: Walk, isWhole: boolean): void {
  const [first, ...more] = walk.painted.filter(({ kind }) => kind === "store_buttons");
  // What could not be read may have had them.
  if (isWhole && !walk.hasButtons) walk.tell(first?.begin ?? 0, needsButtons);
  for (const { begin } of more) walk.tell(begin, "{% store_buttons %} stands in a body once.");
}

const needsButtons =
  "The body needs {% store_buttons %} at its top level, outside of every other tag.";

function isTag(token: TopLevelToken): token is TagToken {
  return TypeGuards.isTagToken(token);
}

function paint(token: TopLevelToken, { open, painted }: Walk): void {
  const { begin, end } = token;
  const isEnd = isTag(token) && token.name === "endcomment";
  const isComment = isEnd || open.at(-1)?.name === "comment";
  const last = painted.at(-1);
  if (isComment && last?.kind === "comment" && last.end === begin) {
    painted[painted.length - 1] = { ...last, end };
  } else if (isTag(token)) {
    const kind = token.name === "store_buttons" ? "store_buttons" : "tag";
    painted.push({ begin, end, kind: isComment ? "comment" : kind });
  } else if (TypeGuards.isOutputToken(token)) {
    painted.push({ begin, end, kind: "output" });
  }
}

/** The pieces as liquidjs cuts them; behind one that never ends there is nothing more. */
function readTokens(
  source: string,
  tell: Sink,
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
      tell(begin, isOpen ? `This ${isOutput ? "{{" : "{%"} is never closed by ${end}.` : noName);
    }
    // Behind {% raw %} it would read nothing up to an {% endraw %}.
    const last = tokens.at(-1);
    if (last !== undefined && isTag(last) && last.name === "raw" && last.begin === begin) {
      tokenizer = new Tokenizer(source, operators, undefined, [last.end, source.length]);
    }
  }
  return { tokens, isWhole };
}

const noName = "A tag begins with its name.";

function listLocals(tokens: readonly TopLevelToken[]): ReadonlySet<string> {
  const names = tokens.filter(isTag).flatMap(({ name, args }) => {
    const [made = ""] = /^[\w-]+/.exec(args) ?? [];
    return name === "assign" || name === "for" ? [made] : [];
  });
  return new Set([...names, "forloop"]);
}

function checkToken(token: TopLevelToken, walk: Walk): void {
  const { open, tell } = walk;
  if (open.at(-1)?.name === "comment" && !(isTag(token) && token.name === "endcomment")) return;
  if (TypeGuards.isHTMLToken(token)) return;
  if (token.end - token.begin > bounds.pieceLength) {
    tell(token.begin, `A tag or an output is at most ${bounds.pieceLength} characters long.`);
  } else if (isTag(token)) {
    checkTag(token, walk);
  } else {
    checkPiece(token, walk);
  }
}

/** Counts a piece as often as it will be carried out, up to where that is more than a page's. */
function measure(token: TopLevelToken, walk: Walk): void {
  if (walk.isOver) return;
  const rounds = walk.open.reduce((product, block) => product * block.rounds, 1);
  if (!TypeGuards.isHTMLToken(token)) walk.steps += rounds;
  walk.characters += rounds * (token.end - token.begin);
  const fault = findExcess(walk);
  if (fault === undefined) return;
  walk.isOver = true;
  walk.tell(token.begin, fault);
}

function findExcess({ open, steps, characters }: Walk): string | undefined {
  if (open.length > bounds.depth) return `Blocks stand in each other at most ${bounds.depth} deep.`;
  if (steps <= bounds.steps && characters <= bounds.characters) return undefined;
  const most = `${bounds.steps} tags and outputs and ${bounds.characters} characters`;
  return `With all its loops, a page is at most ${most} of template long.`;
}

function checkTag(token: TagToken, walk: Walk): void {
  const { name, begin } = token;
  const { open, tell } = walk;
  if (Object.hasOwn(blocks, name)) {
    const rounds = checkPiece(token, walk);
    open.push({ name, begin, rounds, hasElse: false });
  } else if (name.startsWith("end") && Object.hasOwn(blocks, name.slice(3))) {
    closeBlock(token, walk);
  } else if (["else", "elsif", "when"].includes(name)) {
    checkBranch(token, walk);
  } else if (name === "break" || name === "continue") {
    const isPlaced = open.some((block) => block.name === "for");
    if (!isPlaced) tell(begin, `{% ${name} %} has no {% for %} around it.`);
    checkNoArguments(token, walk);
  } else if (name === "store_buttons") {
    walk.hasButtons ||= open.length === 0;
    checkNoArguments(token, walk);
  } else if (tagNames.some((known) => known === name)) {
    checkPiece(token, walk);
  } else {
    tell(begin, describeUnknown(name));
  }
}

function checkBranch(token: TagToken, walk: Walk): void {
  const { name, begin } = token;
  const block = walk.open.at(-1);
  if (block === undefined || blocks[block.name]?.includes(name) !== true) {
    walk.tell(begin, `{% ${name} %} has no place here.`);
    return;
  }
  if (block.hasElse) walk.tell(begin, `{% ${name} %} stands behind {% else %}, which is the last.`);
  if (name !== "else") {
    checkPiece(token, walk);
    return;
  }
  block.hasElse = true;
  checkNoArguments(token, walk);
}

function describeUnknown(name: string): string {
  return `There is no tag ${name.slice(0, 50)}: there are ${tagNames.join(", ")}.`;
}

/** An end closes its own block; those that were left open in between are told. */
function closeBlock(token: TagToken, walk: Walk): void {
  const { name, begin } = token;
  const { open, tell } = walk;
  checkNoArguments(token, walk);
  const index = open.findLastIndex((block) => `end${block.name}` === name);
  if (index < 0) {
    tell(begin, `{% ${name} %} closes nothing that is open here.`);
    return;
  }
  for (const left of open.splice(index).slice(1)) {
    tell(left.begin, `{% ${left.name} %} is not closed before {% ${name} %}.`);
  }
}

function checkNoArguments({ name, args, begin }: TagToken, { tell }: Walk): void {
  if (args.trim() !== "") tell(begin, `{% ${name} %} takes nothing behind its name.`);
}

/** What has to stand around a piece for it to be a template of its own. */
function frame(token: TopLevelToken): readonly [before: string, after: string] {
  const name = isTag(token) ? token.name : "";
  if (Object.hasOwn(blocks, name)) return ["", `{% end${name} %}`];
  if (name === "elsif") return ["{% if true %}", "{% endif %}"];
  return name === "when" ? ["{% case 1 %}", "{% endcase %}"] : ["", ""];
}

/** Parses one piece alone; answers how often it would go round, if it is a loop. */
function checkPiece(token: TopLevelToken, { source, tell, locals, isOver }: Walk): number {
  if (isOver) return 1;
  const [before, after] = frame(token);
  const piece = source.slice(token.begin, token.end);
  const isLoop = isTag(token) && token.name === "for";
  const { faults, rounds } = readPiece(before + piece + after, isLoop, locals);
  for (const { offset, message } of faults) {
    const inside = Math.min(Math.max(offset - before.length, 0), piece.length - 1);
    tell(token.begin + inside, message);
  }
  return rounds;
}

type Reading = { readonly faults: readonly Fault[]; readonly rounds: number };

function readPiece(text: string, isLoop: boolean, locals: ReadonlySet<string>): Reading {
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
