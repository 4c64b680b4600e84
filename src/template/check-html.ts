import { Tokenizer, TokenizerMode, type ErrorCodes, type Token } from "parse5";
import type { Piece, Sink } from "./check-liquid.ts";
import { bounds } from "./clean-html.ts";
import { findAttributeFault, findElementFault, findValueFault } from "./html-rules.ts";

/**
 * The HTML of a template as its author wrote it. Liquid is painted over, so that every tag keeps
 * its place; what Liquid makes of it is looked at again when it is rendered.
 */

/** Stands for what an output will be; no text has this character. */
const unknown = "\ue000";

export const unseenButtons = "{% store_buttons %} cannot be seen here.";

export function checkHtml(source: string, liquid: readonly Piece[], tell: Sink): void {
  const painted = paintOver(source, liquid);
  for (const { index } of painted.matchAll(/<\/?\ue000/g)) {
    tell(index, "An element's name cannot come from Liquid.");
  }
  const buttons = liquid.filter(({ kind }) => kind === "store_buttons");
  /** What stands inside of a tag or a comment is not seen. */
  const checkButtons = (start = 0, end = 0) => {
    for (const { begin } of buttons) {
      if (begin > start && begin < end) tell(begin, unseenButtons);
    }
  };
  let elements = 0;
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: (tag) => {
        elements += 1;
        const offset = tag.location?.startOffset ?? 0;
        if (elements === bounds.elements + 1) {
          tell(offset, `A page has at most ${bounds.elements} elements.`);
        }
        checkTag(tag, painted, tell);
        checkButtons(tag.location?.startOffset, tag.location?.endOffset);
        if (rawElements.has(tag.tagName)) tokenizer.state = TokenizerMode.RAWTEXT;
      },
      onEndTag: () => undefined,
      onCharacter: () => undefined,
      onWhitespaceCharacter: () => undefined,
      onNullCharacter: () => undefined,
      onComment: ({ location }) => checkButtons(location?.startOffset, location?.endOffset),
      onDoctype: ({ location }) =>
        tell(location?.startOffset ?? 0, "<!doctype> is the page's own."),
      onEof: () => undefined,
      onParseError: ({ code, startOffset }) => {
        const fault = faults[code];
        if (fault !== undefined) tell(startOffset, fault);
      },
    },
  );
  tokenizer.write(painted, true);
}

/** What is in them is no HTML. */
const rawElements = new Set(["script", "style", "textarea", "title", "xmp", "iframe", "noscript"]);

/** What a browser would get over, and its author would hardly like. */
const faults: Readonly<Partial<Record<ErrorCodes, string>>> = {
  "eof-in-tag": "The last tag is never closed by >.",
  "eof-in-comment": "The last comment is never closed by -->.",
  "duplicate-attribute":
    "An attribute stands twice in one tag: put the condition into its value instead.",
};

/** Every piece of Liquid becomes as many other characters; lines stay lines. */
function paintOver(source: string, liquid: readonly Piece[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const piece of liquid) {
    const paint = piece.kind === "output" ? unknown : " ";
    parts.push(
      source.slice(end, piece.begin).replaceAll(unknown, " "),
      source.slice(piece.begin, piece.end).replace(/[^\r\n]/g, paint),
    );
    end = piece.end;
  }
  return parts.join("") + source.slice(end).replaceAll(unknown, " ");
}

function checkTag({ tagName, attrs, location }: Token.TagToken, painted: string, tell: Sink): void {
  const start = location?.startOffset ?? 0;
  const fault = tagName.includes(unknown)
    ? "An element's name cannot come from Liquid."
    : findElementFault(tagName);
  if (fault !== undefined) {
    tell(start, fault);
    return;
  }
  for (const { name, value } of attrs) {
    const { startOffset: offset = start, endOffset = start } = location?.attrs?.[name] ?? {};
    if (isBare.test(painted.slice(offset, endOffset))) tell(offset, needsQuotes);
    const wrong = name.includes(unknown)
      ? "An attribute's name cannot come from Liquid."
      : (findAttributeFault(tagName, name) ?? checkValue(name, value.trim()));
    if (wrong !== undefined) tell(offset, wrong);
  }
}

/** A value without quotes ends at the first space that Liquid puts into it. */
const isBare = /^[^=]*=\s*\ue000/;
const needsQuotes = "A value that comes from Liquid needs quotes around it.";

/** Of a value that Liquid makes in part, only its beginning can be judged before. */
function checkValue(name: string, value: string): string | undefined {
  const at = value.indexOf(unknown);
  if (at < 0) return findValueFault(name, value);
  const begun = value.slice(0, at);
  const isOpen = begun === "" || /^(?:https?:\/\/|mailto:|tel:|#|data:image\/)/i.test(begun);
  const isJudged = name === "href" || name === "src" || name === "cite";
  return isJudged && !isOpen ? findValueFault(name, begun) : undefined;
}
