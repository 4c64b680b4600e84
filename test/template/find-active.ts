import { html, parse, type DefaultTreeAdapterMap } from "parse5";

/**
 * Finds everything in a page that runs, loads or redirects by itself. It shares no code with the
 * rules for templates, so that a mistake there is not repeated here.
 */

type Node = DefaultTreeAdapterMap["node"];
type Element = DefaultTreeAdapterMap["element"];

/** All elements that a page may contain. */
const allowed = new Set(
  [
    "html head body meta title link style main article section header footer nav aside div span p",
    "h1 h2 h3 h4 h5 h6 a b i u s em strong small mark sub sup br hr wbr img ul ol li dl dt dd",
    "table thead tbody tfoot tr td th caption col colgroup details summary figure figcaption",
    "blockquote q cite code pre kbd samp var abbr address time del ins dfn bdi bdo ruby rt rp menu",
    "hgroup svg path",
  ].flatMap((line) => line.split(" ")),
);

const metaNames = /^(?:viewport|color-scheme|description|apple-itunes-app|twitter:[a-z]+)$/;
const metaProperties = /^(?:og|al):[a-z_:]+$/;

/** Everything that a page must not contain. */
export function findActive(page: string, nonce: string): readonly string[] {
  const found: string[] = [];
  visit(parse(page), found, nonce);
  return found;
}

function visit(node: Node, found: string[], nonce: string): void {
  if ("tagName" in node) checkElement(node, found, nonce);
  if ("content" in node) visit(node.content, found, nonce);
  if ("childNodes" in node) for (const child of node.childNodes) visit(child, found, nonce);
}

function checkElement(
  { tagName, attrs, namespaceURI }: Element,
  found: string[],
  nonce: string,
): void {
  const shown = `<${tagName}${attrs.map(({ name, value }) => ` ${name}=${value}`).join("")}>`;
  const given = new Map(attrs.map(({ name, value }) => [name, value]));
  const isOurs = namespaceURI !== html.NS.HTML;
  if (isOurs && tagName !== "svg" && tagName !== "path") found.push(shown);
  if (!allowed.has(tagName)) found.push(shown);
  if (tagName === "style" && given.get("nonce") !== nonce) found.push(shown);
  if (tagName === "link" && !["icon", "canonical"].includes(given.get("rel") ?? "")) {
    found.push(shown);
  }
  if (tagName === "link" && given.get("rel") === "icon" && given.get("href") !== "data:,") {
    found.push(shown);
  }
  if (tagName === "meta") {
    const isKnown =
      given.has("charset") ||
      metaNames.test(given.get("name") ?? "") ||
      metaProperties.test(given.get("property") ?? "") ||
      given.get("http-equiv") === "content-security-policy";
    if (!isKnown) found.push(shown);
  }
  for (const { name, value } of attrs) {
    if (name.startsWith("on") || name === "style" || name === "srcset" || name === "ping") {
      found.push(shown);
    }
    if (name === "href" && tagName === "a" && !isHarmless(value)) found.push(shown);
    if (name === "src" && !/^(?:https:\/\/|data:image\/)/.test(value)) found.push(shown);
  }
}

/** The only custom scheme in these tests is exampleshop. */
function isHarmless(address: string): boolean {
  return /^(?:https?:\/\/[^\s\\]+|mailto:.+|tel:.+|#\S*|exampleshop:\/\/.*)$/.test(address);
}
