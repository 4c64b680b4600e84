import { createHash } from "node:crypto";
import {
  chooseLanguage,
  describeLanguage,
  pageTexts,
  type PageTexts,
} from "../template/page-texts.ts";
import { pageStyle } from "../template/page-style.ts";
import { starter } from "../template/starter-template.ts";
import { escapeText } from "../text/escape.ts";
import { makeAnswer, quietHeaders, type HostAnswer } from "./http-answer.ts";

/** A page with only the project's name, in the style of the starter template. */

const style = `${pageStyle}${starter.css}`;
const styleHash = createHash("sha256").update(style).digest("base64");

const headers = {
  ...quietHeaders,
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${styleHash}'; img-src data:; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  vary: "accept-language",
} as const;

export function makeQuietPage(
  page: "home" | "not_found",
  name: string,
  languages: string | undefined,
): HostAnswer {
  const language = chooseLanguage(languages);
  const title = page === "home" ? name : pageTexts[language].not_found;
  const html = [
    `<!doctype html>\n<html ${describeLanguage(language)}><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">',
    `<title>${escapeText(title)}</title><style>${style}</style></head>`,
    `<body><main class="page"><article class="card"><div class="about">${describeIcon(name)}`,
    page === "home" ? describeHome(name) : describeMissing(name, pageTexts[language]),
    "</div></article></main></body></html>\n",
  ].join("");
  return makeAnswer(page === "home" ? 200 : 404, headers, html);
}

function describeIcon(name: string): string {
  const [letter = ""] = name.trim();
  return `<div class="icon" aria-hidden="true">${escapeText(letter.toUpperCase())}</div>`;
}

function describeHome(name: string): string {
  return `<h1 class="title" dir="auto">${escapeText(name)}</h1>`;
}

function describeMissing(name: string, { not_found, not_found_why }: PageTexts): string {
  return [
    `<p class="project" dir="auto">${escapeText(name)}</p>`,
    `<h1 class="title">${escapeText(not_found)}</h1>`,
    `<p class="description">${escapeText(not_found_why)}</p>`,
  ].join("");
}
