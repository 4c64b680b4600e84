import type { Template } from "liquidjs";
import { checkLiquid } from "./check-liquid.ts";
import { cleanHtml } from "./clean-html.ts";
import { parseLiquid, renderLiquid, type TimeLimit } from "./liquid.ts";
import { renderHead } from "./page-head.ts";
import type { PageButton, PageSubject, TemplateSource } from "./page-input.ts";
import { pageStyle } from "./page-style.ts";
import { starter } from "./starter-template.ts";
import { renderButtons } from "./store-buttons.ts";
import { buildVariables } from "./liquid-variables.ts";

export type { TemplateSource } from "./page-input.ts";

/**
 * A link's page, for the link host and for the preview alike: one function from plain data to the
 * whole document and the headers that it needs. It runs no script, and fetches nothing but the
 * pictures that a template names.
 */

/** A template that was parsed once, to be rendered often. */
export type CompiledTemplate = { readonly templates: Template[]; readonly css: string };

export type PageInput = PageSubject & {
  readonly buttons: readonly PageButton[];
  /** Undefined where the project has no template of its own. */
  readonly template: CompiledTemplate | undefined;
  /** Fresh for every page: what is inline and carries it is ours. */
  readonly nonce: string;
  readonly forPreview?: boolean;
  /** A template that takes longer is not shown; undefined where its steps alone count. */
  readonly time: TimeLimit | undefined;
};

export type LinkPage = {
  readonly html: string;
  readonly headers: Readonly<Record<string, string>>;
};

/** The template was not checked, or not by these rules. */
export class TemplateRefused extends Error {
  override readonly name = "TemplateRefused";
}

export function compileTemplate(source: TemplateSource): CompiledTemplate {
  const { body, css } = fillBody(source);
  const faults: string[] = [];
  checkLiquid(body, (_, message) => faults.push(message));
  if (faults[0] !== undefined) throw new TemplateRefused(faults[0]);
  if (css.includes("<")) throw new TemplateRefused("< is not allowed in CSS.");
  return { templates: parseLiquid(body), css };
}

/** Without a body the starter's is shown, in its own css; what css there is comes on top of it. */
export function fillBody({ body, css }: TemplateSource): TemplateSource {
  if (body !== "") return { body, css };
  return { body: starter.body, css: css === starter.css ? css : `${starter.css}\n${css}` };
}

let compiledStarter: CompiledTemplate | undefined;

export function renderLinkPage(input: PageInput): LinkPage {
  const { nonce, platform, forPreview = false } = input;
  const { css, body, hasPictures } = renderTemplate(input);
  const policy = describePolicy(hasPictures, nonce);
  // A preview may be shown where no header goes with it.
  const meta = `<meta http-equiv="content-security-policy" content="${policy}">`;
  const style = `<style nonce="${nonce}">${pageStyle}</style>`;
  const own = css === "" ? "" : `<style nonce="${nonce}">${css}</style>`;
  const head = `${renderHead(input)}${forPreview ? meta : ""}${style}${own}`;
  const html =
    `<!doctype html>\n<html lang="en"><head>${head}</head>` +
    `<body class="${platform}">${body}</body></html>\n`;
  const framing = forPreview ? "sandbox allow-popups" : "frame-ancestors 'none'";
  return {
    html,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `${policy}; ${framing}`,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex",
    },
  };
}

type Body = { readonly css: string; readonly body: string; readonly hasPictures: boolean };

/** A page is never missing: one that cannot be made from its template has the default design. */
function renderTemplate(input: PageInput): Body {
  const buttons = renderButtons(input.buttons);
  compiledStarter ??= compileTemplate(starter);
  for (const template of [input.template, compiledStarter]) {
    const body = template && tryRender(template, input, buttons);
    if (body !== undefined) return body;
  }
  return { css: "", body: buttons, hasPictures: false };
}

function tryRender(
  { templates, css }: CompiledTemplate,
  input: PageInput,
  buttons: string,
): Body | undefined {
  try {
    const made = renderLiquid(templates, buildVariables(input), input.time);
    const { html: body, hasPictures, hasInserted } = cleanHtml(made, buttons);
    // A page without its buttons leads nowhere.
    return hasInserted ? { css, body, hasPictures } : undefined;
  } catch {
    // Nothing but the template can be at fault here.
    return undefined;
  }
}

function describePolicy(hasPictures: boolean, nonce: string): string {
  return [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    `img-src data:${hasPictures ? " https:" : ""}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}
