import { Tokenizer, TokenizerMode, type Token } from "parse5";

/** What a page of somebody else says, without its markup and its code. */

export type PageTexts = {
  readonly title: string;
  /** The first one that says anything. */
  readonly heading: string;
  /** All that stands in its body. */
  readonly text: string;
};

/** What a page is about stands near its beginning. */
const mostRead = 64 * 1024;

/** The text inside of these is code, or is not shown. */
const unread: ReadonlySet<string> = new Set(["script", "style", "template", "noscript", "svg"]);
const raw: ReadonlySet<string> = new Set(["script", "style"]);
const headings: ReadonlySet<string> = new Set(["h1", "h2", "h3"]);

export function readPageTexts(html: string): PageTexts {
  const texts = { title: "", heading: "", text: "" };
  let place: "title" | "heading" | "unread" | "text" = "text";
  /** The element that ends the place. */
  let element = "";
  const add = ({ chars }: Token.CharacterToken) => {
    if (place === "unread") return;
    if (place === "heading") texts.heading += chars;
    if (place === "title") texts.title += chars;
    else texts.text += chars;
  };
  const tokenizer = new Tokenizer(
    {},
    {
      onStartTag: ({ tagName, selfClosing }) => {
        if (raw.has(tagName)) tokenizer.state = TokenizerMode.RAWTEXT;
        if (tagName === "title") tokenizer.state = TokenizerMode.RCDATA;
        texts.text += " ";
        if (element !== "" || selfClosing) return;
        const isHeading = headings.has(tagName) && texts.heading.trim() === "";
        if (tagName === "title") place = "title";
        else if (unread.has(tagName)) place = "unread";
        else if (isHeading) place = "heading";
        else return;
        element = tagName;
      },
      onEndTag: ({ tagName }) => {
        texts.text += " ";
        if (tagName !== element) return;
        place = "text";
        element = "";
      },
      onCharacter: add,
      onWhitespaceCharacter: add,
      onNullCharacter: () => undefined,
      onComment: () => undefined,
      onDoctype: () => undefined,
      onEof: () => undefined,
      onParseError: null,
    },
  );
  tokenizer.write(html.slice(0, mostRead), true);
  return { title: tidy(texts.title), heading: tidy(texts.heading), text: tidy(texts.text) };
}

/** On one line; a text that spells markup out is none either. */
function tidy(text: string): string {
  return text
    .replace(/<[^<>]*>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
}
