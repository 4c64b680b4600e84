import { defaultTreeAdapter, html as namespaces, Parser, type DefaultTreeAdapterMap } from "parse5";
import { escapeText } from "../text/escape.ts";
import {
  findAttributeFault,
  findElementFault,
  findValueFault,
  voidElements,
} from "./html-rules.ts";
import type { TemplateFault } from "./page-input.ts";

/**
 * Parses rendered HTML like a browser, and keeps only the allowed elements and attributes. It
 * closes all elements and quotes all values, so that every browser reads the result in the same
 * way.
 */

export type CleanHtml = {
  readonly html: string;
  readonly hasPictures: boolean;
  /**
   * False if the inserted markup was lost, because its place was in a comment or a removed element.
   */
  readonly hasInserted: boolean;
  /** What was removed. All offsets are 0 unless `hasPlaces` is set. */
  readonly faults: readonly TemplateFault[];
};

/**
 * Marks where our own markup is inserted. No template can output this unpaired surrogate: valid
 * text does not contain it, and HTML parses `&#xdc00;` as U+FFFD.
 */
export const mark = "\udc00";

/**
 * With these limits, the parsing time is proportional to the length. Without them, a page that
 * keeps reopening an element (`<p><b id=1></p><p><b id=2></p>…`) could take minutes and use all
 * memory.
 */
export const pageLimits = {
  depth: 64,
  elements: 1500,
  /**
   * The limit for the input. The limit for the output (`written`) is higher, because the output is
   * escaped and contains our own markup.
   */
  characters: 128 * 1024,
  written: 256 * 1024,
} as const;

/** Thrown if a page is too large or too deeply nested to be parsed in time. */
export class HtmlTooLarge extends Error {
  override readonly name = "HtmlTooLarge";
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

type Node = DefaultTreeAdapterMap["node"];
type Element = DefaultTreeAdapterMap["element"];

/**
 * Cleans HTML, and replaces the mark with `inserted`, which is not cleaned. If `hasPlaces` is set,
 * faults have offsets, but parsing is slower.
 */
export function cleanHtml(html: string, inserted: string, hasPlaces = false): CleanHtml {
  const output: CleanOutput = { parts: [], faults: [], inserted, length: 0, hasPictures: false };
  for (const node of parseBounded(html, hasPlaces)) write(node, output);
  const { parts, faults, hasPictures } = output;
  const hasInserted = output.inserted === undefined;
  return { html: parts.join(""), hasPictures, hasInserted, faults };
}

function parseBounded(html: string, hasPlaces: boolean): readonly Node[] {
  if (html.length > pageLimits.characters) {
    const message = `The page is longer than ${pageLimits.characters} characters.`;
    throw new HtmlTooLarge(message, pageLimits.characters);
  }
  let depth = 0;
  let elements = 0;
  const treeAdapter = {
    ...defaultTreeAdapter,
    onItemPush: (element: Element) => {
      depth += 1;
      elements += 1;
      const refuse = (message: string) => new HtmlTooLarge(message, findOffset(element));
      if (depth > pageLimits.depth) {
        throw refuse(`The page nests elements more than ${pageLimits.depth} levels deep.`);
      }
      if (elements > pageLimits.elements) {
        throw refuse(`The page has more than ${pageLimits.elements} elements.`);
      }
    },
    onItemPop: () => {
      depth -= 1;
    },
  };
  const options = { treeAdapter, sourceCodeLocationInfo: hasPlaces };
  const parser = Parser.getFragmentParser<DefaultTreeAdapterMap>(null, options);
  parser.tokenizer.write(html, true);
  return parser.getFragment().childNodes;
}

function findOffset({ sourceCodeLocation: place }: Element, attribute?: string): number {
  const ofAttribute = attribute === undefined ? undefined : place?.attrs?.[attribute];
  return ofAttribute?.startOffset ?? place?.startOffset ?? 0;
}

type CleanOutput = {
  readonly parts: string[];
  readonly faults: TemplateFault[];
  /** The markup to insert. Undefined after it was inserted, because it may appear only once. */
  inserted: string | undefined;
  length: number;
  hasPictures: boolean;
};

function write(node: Node, output: CleanOutput): void {
  if (defaultTreeAdapter.isTextNode(node)) {
    const [before = "", ...after] = escapeText(node.value).split(mark);
    put(before, output);
    if (after.length === 0) return;
    put(output.inserted ?? "", output);
    output.inserted = undefined;
    put(after.join(""), output);
  } else if (defaultTreeAdapter.isElementNode(node)) {
    writeElement(node, output);
  }
}

function put(part: string, output: CleanOutput): void {
  output.parts.push(part);
  output.length += part.length;
  if (output.length <= pageLimits.written) return;
  throw new HtmlTooLarge(`The finished page is longer than ${pageLimits.written} characters.`, 0);
}

function writeElement(element: Element, output: CleanOutput): void {
  const { tagName } = element;
  const report = (message: string, attribute?: string): void => {
    output.faults.push({ offset: findOffset(element, attribute), message });
  };
  const fault = isHtml(element) ? findElementFault(tagName) : "Only HTML is allowed.";
  if (fault !== undefined) return report(fault);
  output.hasPictures ||= tagName === "img";
  let tag = `<${tagName}`;
  for (const { name, value } of element.attrs) {
    const text = value.replaceAll(mark, "").trim();
    // An empty URL comes from a variable without a value, which is not a fault of the template.
    const wrongValue = findValueFault(name, text);
    const wrong = findAttributeFault(tagName, name) ?? (text === "" ? undefined : wrongValue);
    if (wrong !== undefined) report(wrong, name);
    else if (wrongValue === undefined) tag += ` ${name}="${escapeText(text)}"`;
  }
  put(`${tag}>`, output);
  if (voidElements.has(tagName)) return;
  for (const child of element.childNodes) write(child, output);
  put(`</${tagName}>`, output);
}

function isHtml({ namespaceURI }: Element): boolean {
  return namespaceURI === namespaces.NS.HTML;
}
