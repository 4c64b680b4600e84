import { generate, parse, walk, type CssNode, type Rule } from "css-tree";
import type { DefaultTreeAdapterTypes } from "parse5";
import { checkCss } from "./check-css.ts";
import { maskLiquid } from "./check-html.ts";
import { checkLiquid, type Piece } from "./check-liquid.ts";
import { HtmlTooLarge, mark, parseBounded } from "./clean-html.ts";
import { placeFaults } from "./line-and-column.ts";
import { fillBody } from "./link-page.ts";
import type { Fault, TemplateProblem, TemplateSource } from "./page-input.ts";
import { writeClasses } from "./store-buttons.ts";

/**
 * What of a template keeps visitors from seeing the buttons that stand in its page. The API takes
 * such a template, but its page leads nowhere. A text that the API would refuse is not judged.
 */
export function findHiddenButtons(source: TemplateSource): readonly TemplateProblem[] {
  const { body } = fillBody(source);
  const faults: string[] = [];
  const { pieces } = checkLiquid(body, (_, message) => faults.push(message));
  checkCss(source.css, (_, message) => faults.push(message));
  const around = faults.length === 0 ? findAround(body, pieces) : undefined;
  if (around === undefined) return [];
  return [
    ...placeFaults("body", body, listHiding(around)),
    ...placeFaults("css", source.css, listHidingRules(source.css, listWays(around))),
  ];
}

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;

/** The elements in which the buttons stand, the outermost first; undefined where none stand. */
function findAround(body: string, pieces: readonly Piece[]): readonly Element[] | undefined {
  const at = pieces.find(({ kind }) => kind === "store_buttons")?.begin;
  if (at === undefined) return undefined;
  const masked = maskLiquid(body, pieces);
  // The tag is masked by spaces, so that all behind the mark keeps its place.
  const marked = `${masked.slice(0, at)}${mark}${masked.slice(at + 1)}`;
  const find = (node: Node, around: readonly Element[]): readonly Element[] | undefined => {
    if ("value" in node) return node.value.includes(mark) ? around : undefined;
    const inside = "tagName" in node ? [...around, node] : around;
    for (const child of "childNodes" in node ? node.childNodes : []) {
      const found = find(child, inside);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  for (const node of parseUnlessTooLarge(marked)) {
    const found = find(node, []);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Of a stranger's text no more is read than of one that the API takes. */
function parseUnlessTooLarge(html: string): readonly Node[] {
  try {
    return parseBounded(html, true);
  } catch (error) {
    if (error instanceof HtmlTooLarge) return [];
    throw error;
  }
}

function listHiding(around: readonly Element[]): readonly Fault[] {
  return around.flatMap(({ tagName, attrs, sourceCodeLocation }) => {
    const has = (wanted: string) => attrs.some(({ name }) => name === wanted);
    const offset = sourceCodeLocation?.startOffset ?? 0;
    const message = `The buttons are not seen: this <${tagName}> is`;
    return [
      ...(has("hidden") ? [{ offset, message: `${message} hidden.` }] : []),
      ...(tagName === "details" && !has("open") ? [{ offset, message: `${message} closed.` }] : []),
    ];
  });
}

/** What a selector can name of an element. */
type Named = {
  readonly tag: string;
  readonly id: string | undefined;
  readonly classes: ReadonlySet<string>;
};

/** From the document's root to each of the buttons that there can be. */
function listWays(around: readonly Element[]): readonly (readonly Named[])[] {
  const outer = around.map(({ tagName: tag, attrs }) => {
    const read = (wanted: string) => attrs.find(({ name }) => name === wanted)?.value;
    return { tag, id: read("id"), classes: new Set(read("class")?.split(/\s+/)) };
  });
  // Each as link-page.ts and store-buttons.ts write it.
  const begin = [
    nameOwn("html", ""),
    nameOwn("body", "ios android desktop"),
    ...outer,
    nameOwn("div", "store-buttons"),
  ];
  const kinds = ["open", "app_store", "play_store", "continue"] as const;
  const ranks = ["primary", "secondary"] as const;
  return kinds.flatMap((kind) =>
    ranks.map((rank) => [...begin, nameOwn("a", writeClasses(kind, rank))]),
  );
}

function nameOwn(tag: string, classes: string): Named {
  return { tag, id: undefined, classes: new Set(classes.split(" ")) };
}

type JudgedRule = {
  readonly offset: number;
  /** Whether it holds on some screens only. */
  readonly isConditional: boolean;
  readonly said: ReadonlyMap<string, Declaration>;
  /** The elements that it names, each by the selector that weighs most. */
  readonly named: ReadonlyMap<Named, Weight>;
};

/** What hides the buttons, but for what another rule takes back wherever it holds. */
function listHidingRules(css: string, ways: readonly (readonly Named[])[]): readonly Fault[] {
  const rules = listRules(css, ways);
  const strongest = new Map<Named, Map<string, Weight>>();
  for (const { said, named, isConditional } of rules) {
    if (isConditional) continue;
    for (const [element, weight] of named) {
      const weights = strongest.get(element) ?? new Map<string, Weight>();
      strongest.set(element, weights);
      for (const [property, { isImportant }] of said) {
        const own = [isImportant ? 1 : 0, ...weight];
        if (!weighsMore(weights.get(property) ?? [], own)) weights.set(property, own);
      }
    }
  }
  return rules.flatMap(({ offset, said, named }) => {
    const hiding = listHidingOf(said).find(({ property, isImportant }) =>
      [...named].some(([element, weight]) => {
        const other = strongest.get(element)?.get(property) ?? [];
        return !weighsMore(other, [isImportant ? 1 : 0, ...weight]);
      }),
    );
    if (hiding === undefined) return [];
    const message = `The buttons are not seen: this rule has ${hiding.text}.`;
    return [{ offset, message }];
  });
}

function listRules(css: string, ways: readonly (readonly Named[])[]): readonly JudgedRule[] {
  const rules: JudgedRule[] = [];
  walk(parse(css, { positions: true }), {
    visit: "Rule",
    enter(rule) {
      // Of keyframes, what is hidden is so for a moment; on paper nobody presses a button.
      const { name = "", prelude } = this.atrule ?? {};
      if (/keyframes$/i.test(name) || (prelude && /\bprint\b/i.test(generate(prelude)))) return;
      const offset = rule.loc?.start.offset ?? 0;
      const named = listNamed(rule, ways, offset);
      if (named.size === 0) return;
      const said = readDeclarations(rule);
      rules.push({ offset, isConditional: this.atrule !== null, said, named });
    },
  });
  return rules;
}

type Declaration = { readonly value: string; readonly isImportant: boolean };

/** Those alone by which something can be hidden, or is moving. */
function readDeclarations({ block }: Rule): ReadonlyMap<string, Declaration> {
  const said = new Map<string, Declaration>();
  for (const node of block.children) {
    if (node.type !== "Declaration") continue;
    const property = node.property.toLowerCase();
    if (!Object.hasOwn(hidingValues, property) && !moving.test(property)) continue;
    const value = generate(node.value).toLowerCase().trim();
    said.set(property, { value, isImportant: node.important !== false });
  }
  return said;
}

/** The declarations of a rule by which what it names is not seen. */
function listHidingOf(said: JudgedRule["said"]) {
  // What comes in by and by begins unseen.
  const isMoving = [...said.keys()].some((property) => moving.test(property));
  return [...said].flatMap(([property, { value, isImportant }]) => {
    if (isMoving && movable.has(property)) return [];
    // No more of it is told than what hides: the rest is a stranger's text.
    const [hiding] = hidingValues[property]?.exec(value) ?? [];
    return hiding === undefined ? [] : [{ property, isImportant, text: `${property}: ${hiding}` }];
  });
}

const moving = /^(?:-webkit-)?animation/;
const faraway = /^-\d{4,}(?:\.\d+)?px/;
const hidingValues: Readonly<Record<string, RegExp>> = {
  display: /^none$/,
  visibility: /^(?:hidden|collapse)$/,
  opacity: /^[0.]+%?$/,
  "content-visibility": /^hidden$/,
  "pointer-events": /^none$/,
  transform: /\bscale[xy]?\(0\)|\btranslate[xy]?\((?:[\da-z%.-]*,)?-\d{4,}px\b/,
  scale: /^0$/,
  "clip-path": /^(?:inset\((?:50|100)%\)|circle\(0(?:px|%)?\))/,
  left: faraway,
  right: faraway,
  top: faraway,
  bottom: faraway,
  "margin-left": faraway,
  "margin-top": faraway,
};
const movable: ReadonlySet<string> = new Set(["visibility", "opacity", "transform", "scale"]);

/** Ids, classes and tags of a selector, and where its rule stands: what is first counts most. */
type Weight = readonly number[];

function weighsMore(one: Weight, other: Weight): boolean {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0);
}

function listNamed(
  { prelude }: Rule,
  ways: readonly (readonly Named[])[],
  offset: number,
): ReadonlyMap<Named, Weight> {
  const named = new Map<Named, Weight>();
  if (prelude.type !== "SelectorList") return named;
  for (const selector of prelude.children) {
    if (selector.type !== "Selector") continue;
    const parts = selector.children.toArray();
    const weight = [...weigh(parts), offset];
    for (const way of ways) {
      const known = new Map<string, boolean>();
      for (const [end, element] of way.entries()) {
        // What stands around the buttons is the same of all ways.
        const before = named.get(element);
        if (before !== undefined && !weighsMore(weight, before)) continue;
        if (matches(parts, way.slice(0, end + 1), known)) named.set(element, weight);
      }
    }
  }
  return named;
}

function weigh(parts: readonly CssNode[]): Weight {
  const count = (...types: readonly string[]) =>
    parts.filter((part) => types.includes(part.type) && !("name" in part && part.name === "*"))
      .length;
  return [
    count("IdSelector"),
    count("ClassSelector", "PseudoClassSelector"),
    count("TypeSelector"),
  ];
}

/**
 * Whether a selector names the last one of these; what cannot be told is not said to. `known` is of
 * one selector and one way.
 */
function matches(
  parts: readonly CssNode[],
  way: readonly Named[],
  known: Map<string, boolean>,
): boolean {
  // Of elements in elements of one kind the same question comes up by millions of ways.
  const key = `${parts.length} ${way.length}`;
  const answer = known.get(key) ?? matchesAnew(parts, way, known);
  known.set(key, answer);
  return answer;
}

function matchesAnew(
  parts: readonly CssNode[],
  way: readonly Named[],
  known: Map<string, boolean>,
): boolean {
  const last = way.at(-1);
  const from = parts.findLastIndex(({ type }) => type === "Combinator");
  if (last === undefined || !parts.slice(from + 1).every((part) => fits(part, last))) return false;
  const combinator = parts[from];
  if (combinator?.type !== "Combinator") return true;
  const before = parts.slice(0, from);
  const outer = way.slice(0, -1);
  if (combinator.name === ">") return matches(before, outer, known);
  if (combinator.name !== " ") return false;
  return outer.some((_, end) => matches(before, outer.slice(0, end + 1), known));
}

function fits(part: CssNode, { tag, id, classes }: Named): boolean {
  if (part.type === "TypeSelector") return part.name === "*" || part.name.toLowerCase() === tag;
  if (part.type === "ClassSelector") return classes.has(part.name);
  if (part.type === "IdSelector") return part.name === id;
  // A state such as :hover is not how the page stands there.
  return part.type === "PseudoClassSelector" && /^(?:root|first-child)$/i.test(part.name);
}
