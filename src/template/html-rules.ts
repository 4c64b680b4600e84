import { listWords } from "./split-words.ts";

/** An allowlist of the HTML in templates. Anything that is not listed is rejected. */

const elements = listWords(
  "a abbr address article aside b bdi bdo blockquote br caption cite code col colgroup dd del",
  "details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hgroup hr i img",
  "ins kbd li main mark menu nav ol p pre q rp rt ruby s samp section small span strong",
  "sub summary sup table tbody td tfoot th thead time tr u ul var wbr",
);

/** Elements without content or an end tag. */
export const voidElements = listWords("br col hr img wbr");

/** Attributes that every element may have. `aria-` and `data-` attributes are allowed too. */
const globalAttributes = listWords("id title lang dir role hidden translate class");

const ownAttributes = new Map<string, readonly string[]>(
  Object.entries({
    a: ["href", "target", "rel"],
    blockquote: ["cite"],
    col: ["span"],
    colgroup: ["span"],
    del: ["datetime"],
    details: ["open", "name"],
    img: ["src", "alt", "width", "height", "loading", "decoding"],
    ins: ["datetime"],
    li: ["value"],
    ol: ["start", "type", "reversed"],
    q: ["cite"],
    td: ["colspan", "rowspan", "headers"],
    th: ["colspan", "rowspan", "headers", "scope", "abbr"],
    time: ["datetime"],
  }),
);

/** Reasons for elements that authors often try to use but that are not allowed. */
const elementReasons = new Map(
  Object.entries({
    script: "pages cannot run scripts",
    style: "put styles into css",
    link: "pages cannot load files; put styles into css",
    base: "write full addresses",
    "meta title": "Waypost builds the page's head from the link",
    "html head body": "a template is only the content of the body",
    "iframe frame object embed": "pages cannot embed other pages",
    "form input textarea select": "pages cannot take input",
    button: "pages cannot take input; use <a>",
    svg: 'use <img src="data:image/svg+xml,…">',
    source: "use one <img>",
    "video audio": "pages cannot play media",
  }).flatMap(([names, reason]) => names.split(" ").map((name) => [name, reason] as const)),
);

export function findElementFault(name: string): string | undefined {
  if (elements.has(name)) return undefined;
  const shown = /^[a-z][a-z0-9-]{0,30}$/.test(name) ? `<${name}>` : "This element";
  const reason = elementReasons.get(name);
  return `${shown} is not allowed${reason === undefined ? "" : `: ${reason}`}.`;
}

export function findAttributeFault(element: string, name: string): string | undefined {
  if (globalAttributes.has(name) || /^(?:aria|data)-[a-z0-9-]+$/.test(name)) return undefined;
  if (ownAttributes.get(element)?.includes(name) === true) return undefined;
  if (name === "style") return "style=… is not allowed: put styles into css.";
  if (name.startsWith("on")) return "Event attributes are not allowed: pages cannot run scripts.";
  const shown = /^[a-z][a-z0-9-]{0,30}$/.test(name) ? `The attribute ${name}` : "This attribute";
  return `${shown} is not allowed on <${element}>.`;
}

export const pictureData = /^data:image\/(?:png|jpeg|gif|webp|avif|svg\+xml)[;,]/i;

export function findValueFault(name: string, value: string): string | undefined {
  switch (name) {
    case "href":
      return isFollowable(value)
        ? undefined
        : "href must be an https, http, mailto or tel address, or a #fragment.";
    case "cite":
      return isWebAddress(value) ? undefined : "cite must be an https or http address.";
    case "src":
      return isPicture(value)
        ? undefined
        : "src must be an https address or a data: address of an image.";
    case "target":
      return value === "_blank" ? undefined : "target can only be _blank.";
    default:
      return undefined;
  }
}

/** Whether this is the URL of an image. A page loads nothing but images. */
function isPicture(value: string): boolean {
  return pictureData.test(value) || (/^https:/i.test(value) && isWebAddress(value));
}

export function isWebAddress(value: string): boolean {
  return webAddress.test(value) && !hasControls(value) && isUrl(value);
}

/** Limits the length of host labels, because matching takes quadratic time in a label's length. */
const webAddress = /^https?:\/\/[^\s\\/?#.]{0,63}(?:\.[^\s\\/?#.]{0,63})*(?:[/?#][^\s\\]*)?$/i;

/** Avoids `URL.canParse`, because V8's optimized code for it rejects some valid host names. */
function isUrl(value: string): boolean {
  try {
    return new URL(value).host !== "";
  } catch {
    return false;
  }
}

function isFollowable(value: string): boolean {
  if (/^#[^\s]*$/.test(value)) return true;
  return isWebAddress(value) || (/^(?:mailto|tel):[^\s\\]+$/i.test(value) && !hasControls(value));
}

function hasControls(value: string): boolean {
  return /\p{Cc}/u.test(value);
}
