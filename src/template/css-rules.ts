import { pictureData } from "./html-rules.ts";
import { listWords } from "./split-words.ts";

/**
 * The CSS that a template may have: at-rules, properties and functions are on a list or they are
 * not there. None of them fetches anything, and pictures come as data.
 */

const atRules = listWords("media supports container layer keyframes -webkit-keyframes");

const atRuleReasons: Readonly<Record<string, string>> = {
  import: "a page cannot load other style sheets",
  "font-face": "a page cannot load fonts; use a system font",
  charset: "pages are always UTF-8",
};

/** Whole families of properties by how they begin, and the rest by name. */
const propertyFamilies = new RegExp(
  `^(?:${[
    ...listWords(
      "align animation background border break column contain container counter flex font grid",
      "hyphen(?:s|ate) inset justify letter line list-style margin mask max min object offset",
      "outline overflow overscroll padding page-break place scroll scrollbar stroke text",
      "transform transition word",
    ),
  ].join("|")})(?:-[a-z-]+)?$`,
);

const properties = listWords(
  "accent-color all appearance aspect-ratio backdrop-filter backface-visibility block-size",
  "box-orient osx-font-smoothing tap-highlight-color touch-callout",
  "bottom box-decoration-break box-shadow box-sizing caption-side caret-color clear clip",
  "clip-path color color-scheme columns content content-visibility cursor direction display",
  "empty-cells fill fill-opacity fill-rule filter",
  "float forced-color-adjust gap height hyphens image-rendering initial-letter inline-size",
  "isolation left mix-blend-mode opacity order orphans perspective perspective-origin",
  "pointer-events position print-color-adjust quotes resize right rotate row-gap scale",
  "shape-image-threshold shape-margin shape-outside tab-size table-layout top touch-action",
  "translate unicode-bidi user-select vertical-align visibility white-space widows width",
  "will-change writing-mode z-index zoom",
);

const functions = listWords(
  "abs acos asin atan atan2 attr blur brightness calc circle clamp color color-mix",
  "conic-gradient contrast cos counter counters cubic-bezier drop-shadow ellipse env exp",
  "fit-content grayscale hsl hsla hue-rotate hwb hypot inset invert lab lch light-dark linear",
  "linear-gradient log matrix matrix3d max min minmax mod oklab oklch opacity path perspective",
  "polygon pow radial-gradient rect rem repeat repeating-conic-gradient",
  "repeating-linear-gradient repeating-radial-gradient rgb rgba rotate rotate3d rotatex rotatey",
  "rotatez round saturate scale scale3d scalex scaley scalez sepia sign sin skew skewx skewy",
  "sqrt steps tan translate translate3d translatex translatey translatez var xywh",
);

export function findAtRuleFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (atRules.has(lower)) return undefined;
  const reason = Object.hasOwn(atRuleReasons, lower) ? atRuleReasons[lower] : undefined;
  return `@${show(name)} is not allowed${reason === undefined ? "" : `: ${reason}`}.`;
}

export function findPropertyFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (/^--[\w-]+$/.test(lower)) return undefined;
  const plain = lower.replace(/^-(?:webkit|moz)-/, "");
  const isKnown = propertyFamilies.test(plain) || properties.has(plain);
  return isKnown ? undefined : `The property ${show(name)} is not allowed.`;
}

export function findFunctionFault(name: string): string | undefined {
  const plain = name.toLowerCase().replace(/^-(?:webkit|moz)-/, "");
  return functions.has(plain) ? undefined : `The function ${show(name)}() is not allowed.`;
}

export function findAddressFault(address: string): string | undefined {
  return pictureData.test(address) ? undefined : "url() accepts only a data: address of an image.";
}

function show(name: string): string {
  return /^[\w-]{1,50}$/.test(name) ? name : "…";
}
