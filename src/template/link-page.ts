import type { Template } from "liquidjs";
import { checkLiquid } from "./check-liquid.ts";
import { describeLanguage } from "./choose-language.ts";
import { cleanHtml } from "./clean-html.ts";
import { parseLiquid, renderLiquid, type TimeLimit } from "./liquid.ts";
import { renderHead } from "./page-head.ts";
import { buildVariables } from "./liquid-variables.ts";
import { renderOwnWays } from "./own-ways.ts";
import type { PageButton, PageSubject, PhoneWays, TemplateSource } from "./page-input.ts";
import { ownStyle, pageStyle } from "./page-style.ts";
import { renderScript } from "./page-script.ts";
import type { PageLanguage } from "./page-texts.ts";
import { starter } from "./starter-template.ts";
import { asDesigned, renderButtons } from "./store-buttons.ts";

export type { TemplateSource } from "./page-input.ts";

/**
 * A link's page, for the link host and for the preview alike: one function from plain data to the
 * whole document and the headers that it needs. It fetches nothing but the pictures that a template
 * names, and runs no script but the one of a visit that an install may follow.
 */

/** A template that was parsed once, to be rendered often. */
export type CompiledTemplate = {
  readonly templates: Template[];
  readonly css: string;
  /** Whether its body is the starter's: then what we add to our own design is in it. */
  readonly isStarter: boolean;
};

export type PageInput = PageSubject & {
  readonly buttons: readonly PageButton[];
  /** Undefined where the project has no template of its own. */
  readonly template: CompiledTemplate | undefined;
  /** What our own design speaks; a template of a project's own is as it was designed. */
  readonly language: PageLanguage;
  /** The app within which the page is looked at, where its browser opens no other. */
  readonly within?: string | undefined;
  readonly phone?: PhoneWays | undefined;
  /** Fresh for every page: what is inline and carries it is ours. */
  readonly nonce: string;
  readonly forPreview?: boolean;
  /** By what its script names the visit; undefined where nothing is collected, as in a preview. */
  readonly collectedVisit?: string | undefined;
  /** Whether a preview has the script of a visit, in a form that sends nothing. */
  readonly hasIdleScript?: boolean;
  /** What the button to the App Store copies, where the project wants it. */
  readonly copied?: string | undefined;
  /** A template that takes longer is not shown; undefined where its steps alone count. */
  readonly time: TimeLimit | undefined;
};

export type LinkPage = {
  readonly html: string;
  /** Whether it is written for the visitor's language. */
  readonly isTranslated: boolean;
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
  return { templates: parseLiquid(body), css, isStarter: body === starter.body };
}

/** Without a body the starter's is shown, in its own css; what css there is comes on top of it. */
export function fillBody({ body, css }: TemplateSource): TemplateSource {
  if (body !== "") return { body, css };
  return css === "" || css === starter.css
    ? starter
    : { body: starter.body, css: `${starter.css}\n${css}` };
}

let compiledStarter: CompiledTemplate | undefined;

export function renderLinkPage(input: PageInput): LinkPage {
  const { nonce, platform, forPreview = false } = input;
  const { css, body, hasPictures, isOurs } = renderTemplate(input);
  const { collectedVisit, hasIdleScript = false } = input;
  const hasScript = hasIdleScript || collectedVisit !== undefined;
  const policy = describePolicy(hasPictures, nonce, { hasScript, sends: !forPreview });
  // A preview may be shown where no header goes with it.
  const meta = `<meta http-equiv="content-security-policy" content="${policy}">`;
  const sheets = [pageStyle, isOurs ? ownStyle : "", css].filter((sheet) => sheet !== "");
  const styles = sheets.map((sheet) => `<style nonce="${nonce}">${sheet}</style>`).join("");
  const script = hasScript
    ? renderScript({ visit: collectedVisit, copied: input.copied }, nonce)
    : "";
  const head = `${renderHead(input)}${forPreview ? meta : ""}${styles}${script}`;
  const language = isOurs ? describeLanguage(input.language) : 'lang="en"';
  const html =
    `<!doctype html>\n<html ${language}><head>${head}</head>` +
    `<body class="${platform}">${body}</body></html>\n`;
  const framing = forPreview ? "sandbox allow-popups" : "frame-ancestors 'none'";
  return {
    html,
    isTranslated: isOurs,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `${policy}; ${framing}`,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-robots-tag": "noindex",
    },
  };
}

type Body = {
  readonly css: string;
  readonly body: string;
  readonly hasPictures: boolean;
  readonly isOurs: boolean;
};

/** A page is never missing: one that cannot be made from its template has the default design. */
function renderTemplate(input: PageInput): Body {
  compiledStarter ??= compileTemplate(starter);
  for (const template of [input.template, compiledStarter]) {
    const body = template && tryRender(template, input);
    if (body !== undefined) return body;
  }
  return { css: "", body: renderOwnWays(input), hasPictures: false, isOurs: true };
}

function tryRender(
  { templates, css, isStarter: isOurs }: CompiledTemplate,
  input: PageInput,
): Body | undefined {
  const ways = isOurs ? renderOwnWays(input) : renderButtons(input.buttons, asDesigned);
  try {
    const made = renderLiquid(templates, buildVariables(input), input.time);
    const { html: body, hasPictures, hasInserted } = cleanHtml(made, ways);
    // A page without its buttons leads nowhere.
    return hasInserted ? { css, body, hasPictures, isOurs } : undefined;
  } catch {
    // Nothing but the template can be at fault here.
    return undefined;
  }
}

function describePolicy(
  hasPictures: boolean,
  nonce: string,
  { hasScript, sends }: { readonly hasScript: boolean; readonly sends: boolean },
): string {
  return [
    "default-src 'none'",
    ...(hasScript ? [`script-src 'nonce-${nonce}'`] : []),
    ...(hasScript && sends ? ["connect-src 'self'"] : []),
    `style-src 'nonce-${nonce}'`,
    `img-src data:${hasPictures ? " https:" : ""}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}
