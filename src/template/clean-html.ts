import { defaultTreeAdapter, html as namespaces, Parser, type DefaultTreeAdapterMap } from "parse5";
import { escapeText } from "../text/escape-html.ts";
import {
  findAttributeFault,
  findElementFault,
  findValueFault,
  voidElements,
} from "./html-rules.ts";
import type { Fault } from "./page-input.ts";

/**
 * What Liquid made, as a browser would read it, and then written anew from the tree: only what the
 * rules name comes out, each element closed and each value quoted, so that no second reader can
 * take it for anything else.
 */

export type CleanHtml = {
  readonly html: string;
  readonly hasPictures: boolean;
  /** Whether what was to be put in is in it, and not in a comment or a tag that took it. */
  readonly hasInserted: boolean;
  /** What was left out, and where it stood in what was read: 0 when places were not asked for. */
  readonly faults: readonly Fault[];
};

/**
 * Stands in a template's output for markup of our own, which is put in behind the rules. It is half
 * of a character: no well-formed text has it, and HTML has no way to name it, because a reference
 * to it (`&#xdc00;`) is read as U+FFFD.
 */
export const mark = "\udc00";

/**
 * Left to itself, the parser takes minutes and all memory for a page that opens an element again
 * and again (`<p><b id=1></p><p><b id=2></p>…`). With these limits it is linear.
 */
export const pageLimits = {
  depth: 64,
  elements: 1500,
  /** Of what is read; escaped and with our own markup, it may be so much longer. */
  characters: 128 * 1024,
  written: 256 * 1024,
} as const;

/** The page is too large or too deep to be read in time. */
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

/** Puts `inserted` where the mark stands, as it is. Knowing the places of faults takes longer. */
export function cleanHtml(html: string, inserted: string, hasPlaces = false): CleanHtml {
  const output: Output = { parts: [], faults: [], inserted, length: 0, hasPictures: false };
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

type Output = {
  readonly parts: string[];
  readonly faults: Fault[];
  /** What is to be put in; undefined once it is written, because a page has it only once. */
  inserted: string | undefined;
  length: number;
  hasPictures: boolean;
};

function write(node: Node, output: Output): void {
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

function put(part: string, output: Output): void {
  output.parts.push(part);
  output.length += part.length;
  if (output.length <= pageLimits.written) return;
  throw new HtmlTooLarge(`The finished page is longer than ${pageLimits.written} characters.`, 0);
}

function writeElement(element: Element, output: Output): void {
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
    // An empty address is what an unset variable leaves behind, and no fault of the template.
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
