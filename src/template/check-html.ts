import { Tokenizer, TokenizerMode, type ErrorCodes, type Token } from "parse5";
import type { Piece } from "./check-liquid.ts";
import { pageLimits } from "./clean-html.ts";
import { findAttributeFault, findElementFault, findValueFault } from "./html-rules.ts";
import type { ReportFault } from "./page-input.ts";
import { listWords } from "./split-words.ts";

/**
 * Checks a template's HTML before it is rendered. Liquid is masked with filler of the same length,
 * so that offsets stay the same. `check-template.ts` checks the rendered HTML.
 */

/** The filler for Liquid output. A template's own U+E000 characters become spaces. */
export const unknown = "\ue000";

export const unseenButtons = "{% store_buttons %} would not be visible here.";

export function checkHtml(source: string, liquid: readonly Piece[], report: ReportFault): void {
  const masked = maskLiquid(source, liquid);
  for (const { index } of masked.matchAll(/<\/?\ue000/g)) {
    report(index, "An element name cannot contain Liquid.");
  }
  const buttons = liquid.filter(({ kind }) => kind === "store_buttons");
  const checkButtons = (start = 0, end = 0) => {
    for (const { begin } of buttons) {
      if (begin > start && begin < end) report(begin, unseenButtons);
    }
  };
  let elements = 0;
  const tokenizer = new Tokenizer(
    { sourceCodeLocationInfo: true },
    {
      onStartTag: (tag) => {
        elements += 1;
        const offset = tag.location?.startOffset ?? 0;
        if (elements === pageLimits.elements + 1) {
          report(offset, `A page can have at most ${pageLimits.elements} elements.`);
        }
        checkTag(tag, masked, report);
        checkButtons(tag.location?.startOffset, tag.location?.endOffset);
        if (rawElements.has(tag.tagName)) tokenizer.state = TokenizerMode.RAWTEXT;
      },
      onEndTag: ignore,
      onCharacter: ignore,
      onWhitespaceCharacter: ignore,
      onNullCharacter: ignore,
      onComment: ({ location }) => checkButtons(location?.startOffset, location?.endOffset),
      onDoctype: ({ location }) =>
        report(location?.startOffset ?? 0, "Remove <!doctype>: Waypost adds it."),
      onEof: ignore,
      onParseError: ({ code, startOffset }) => {
        const fault = faults[code];
        if (fault !== undefined) report(startOffset, fault);
      },
    },
  );
  tokenizer.write(masked, true);
}

function ignore(): void {}

/** Elements whose content browsers read as text, not as HTML. */
const rawElements = listWords("script style textarea title xmp iframe noscript");

/** Errors that browsers repair, but rarely in the way that the author intended. */
const faults: Readonly<Partial<Record<ErrorCodes, string>>> = {
  "eof-in-tag": "The last tag has no closing >.",
  "eof-in-comment": "The last comment has no closing -->.",
  "duplicate-attribute":
    "This tag has the same attribute twice. Put any condition inside the attribute's value.",
};

/** Replaces Liquid with filler of the same length. Line breaks stay. */
export function maskLiquid(source: string, liquid: readonly Piece[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const piece of liquid) {
    const filler = piece.kind === "output" ? unknown : " ";
    parts.push(
      source.slice(end, piece.begin).replaceAll(unknown, " "),
      source.slice(piece.begin, piece.end).replace(/[^\r\n]/g, filler),
    );
    end = piece.end;
  }
  return parts.join("") + source.slice(end).replaceAll(unknown, " ");
}

function checkTag(
  { tagName, attrs, location }: Token.TagToken,
  masked: string,
  report: ReportFault,
): void {
  const start = location?.startOffset ?? 0;
  const fault = tagName.includes(unknown)
    ? "An element name cannot contain Liquid."
    : findElementFault(tagName);
  if (fault !== undefined) return report(start, fault);
  for (const { name, value } of attrs) {
    const { startOffset: offset = start, endOffset = start } = location?.attrs?.[name] ?? {};
    if (isBare.test(masked.slice(offset, endOffset))) report(offset, needsQuotes);
    const wrong = name.includes(unknown)
      ? "An attribute name cannot contain Liquid."
      : (findAttributeFault(tagName, name) ?? checkValue(name, value.trim()));
    if (wrong !== undefined) report(offset, wrong);
  }
}

/**
 * Matches a value with Liquid but without quotes. Such a value would end at the first space in
 * Liquid's output.
 */
const isBare = /^[^=]*=\s*\ue000/;
const needsQuotes = "Put quotes around a value that contains Liquid.";

/** Checks an attribute's value. If the value contains Liquid, checks only the text before it. */
function checkValue(name: string, value: string): string | undefined {
  const at = value.indexOf(unknown);
  if (at < 0) return findValueFault(name, value);
  const begun = value.slice(0, at);
  const isOpen = begun === "" || /^(?:https?:\/\/|mailto:|tel:|#|data:image\/)/i.test(begun);
  const isJudged = name === "href" || name === "src" || name === "cite";
  return isJudged && !isOpen ? findValueFault(name, begun) : undefined;
}
