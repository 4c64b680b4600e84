import { generate, parse, walk, type CssNode, type Rule } from "css-tree";
import { parseFragment, type DefaultTreeAdapterTypes } from "parse5";
import { checkCss } from "./check-css.ts";
import { maskLiquid } from "./check-html.ts";
import { checkLiquid, type Piece } from "./check-liquid.ts";
import { mark } from "./clean-html.ts";
import { createLocator } from "./line-and-column.ts";
import { fillBody } from "./link-page.ts";
import type { Fault, TemplateProblem, TemplateSource } from "./page-input.ts";

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
    ...place("body", body, listHiding(around)),
    ...place("css", source.css, listHidingRules(source.css, listWays(around))),
  ];
}

function place(
  field: TemplateProblem["field"],
  source: string,
  faults: readonly Fault[],
): readonly TemplateProblem[] {
  const locate = createLocator(source);
  return faults.map(({ offset, message }) => ({ field, ...locate(offset), message }));
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
  return find(parseFragment(marked, { sourceCodeLocationInfo: true }), []);
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
  // Each as page-head.ts and store-buttons.ts write it.
  const begin = [nameOwn("html", ""), nameOwn("body", "ios android desktop"), ...outer];
  const kinds = ["open", "app-store", "play-store", "continue"];
  return kinds.flatMap((kind) =>
    ["primary", "secondary"].map((rank) => {
      const classes = `store-button store-button-${rank} store-button-${kind}`;
      return [...begin, nameOwn("div", "store-buttons"), nameOwn("a", classes)];
    }),
  );
}

function nameOwn(tag: string, classes: string): Named {
  return { tag, id: undefined, classes: new Set(classes.split(" ")) };
}

function listHidingRules(css: string, ways: readonly (readonly Named[])[]): readonly Fault[] {
  const found: Fault[] = [];
  walk(parse(css, { positions: true }), {
    visit: "Rule",
    enter(rule) {
      // Of keyframes, what is hidden is so for a moment; on paper nobody presses a button.
      const { name = "", prelude } = this.atrule ?? {};
      if (/keyframes$/i.test(name) || (prelude && /\bprint\b/i.test(generate(prelude)))) return;
      const hiding = findHiding(rule);
      if (hiding === undefined || !isNamed(rule, ways)) return;
      const offset = rule.loc?.start.offset ?? 0;
      const message = `The buttons are not seen: this rule has ${hiding}.`;
      found.push({ offset, message });
    },
  });
  return found;
}

/** The declaration of a rule by which what it names is not seen. */
function findHiding({ block }: Rule): string | undefined {
  const said = new Map<string, string>();
  for (const node of block.children) {
    if (node.type !== "Declaration") continue;
    said.set(node.property.toLowerCase(), generate(node.value).toLowerCase().trim());
  }
  // What comes in by and by begins unseen.
  const isMoving = [...said.keys()].some((property) => /^(?:-webkit-)?animation/.test(property));
  for (const [property, value] of said) {
    if (isMoving && movable.has(property)) continue;
    // No more of it is told than what hides: the rest is a stranger's text.
    const [hiding] = hidingValues[property]?.exec(value) ?? [];
    if (hiding !== undefined) return `${property}: ${hiding}`;
  }
  return undefined;
}

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

function isNamed({ prelude }: Rule, ways: readonly (readonly Named[])[]): boolean {
  if (prelude.type !== "SelectorList") return false;
  return prelude.children.some((selector) => {
    if (selector.type !== "Selector") return false;
    const parts = selector.children.toArray();
    return ways.some((way) => way.some((_, end) => matches(parts, way.slice(0, end + 1))));
  });
}

/** Whether a selector names the last one of these; what cannot be told is not said to. */
function matches(
  parts: readonly CssNode[],
  way: readonly Named[],
  known = new Map<string, boolean>(),
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
