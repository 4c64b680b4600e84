import type { Template } from "liquidjs";
import { isAppScheme } from "../contract/rules/app-rules.ts";
import { checkLiquid } from "./check-liquid.ts";
import { describeLanguage, pageTexts, type PageLanguage, type PageTexts } from "./page-texts.ts";
import { cleanHtml } from "./clean-html.ts";
import { isWebAddress } from "./html-rules.ts";
import { buildVariables } from "./liquid-variables.ts";
import { parseLiquid, renderLiquid, type TimeLimit } from "./liquid.ts";
import {
  isFilled,
  readVisibleTitle,
  type PageButton,
  type PageIosApp,
  type PageSubject,
  type PhoneSection,
  type TemplateSource,
} from "./page-input.ts";
import { ownStyle, pageStyle } from "./page-style.ts";
import { starter } from "./starter-template.ts";
import { templateForm, fillText, renderButtons } from "./store-buttons.ts";
import { escapeText } from "../text/escape.ts";

export type { TemplateSource } from "./page-input.ts";

/**
 * Renders a link's page as a document with headers, for the link host and for previews. The page
 * loads nothing but the template's images. Its only script reports the phone's properties for
 * deferred links.
 */

/** A parsed template, which can be rendered many times. */
export type CompiledTemplate = {
  readonly templates: Template[];
  readonly css: string;
  /** Whether the body is the starter template's. If so, our own styles and texts are added. */
  readonly isStarter: boolean;
};

export type PageInput = PageSubject & {
  readonly buttons: readonly PageButton[];
  readonly template: CompiledTemplate | undefined;
  /** The language of our own texts. Templates of projects are not translated. */
  readonly language: PageLanguage;
  /** The app whose in-app browser shows the page, if that browser cannot open other apps. */
  readonly within?: string | undefined;
  readonly phone?: PhoneSection | undefined;
  /** A new random value for each page. It allows our own inline styles and scripts. */
  readonly nonce: string;
  readonly forPreview?: boolean;
  /**
   * The ID of the recorded visit, for the page's script. Undefined if the visit is not recorded.
   */
  readonly collectedVisit?: string | undefined;
  /** True if a preview contains the page's script. In a preview, the script sends nothing. */
  readonly hasIdleScript?: boolean;
  /** The URL that the App Store button copies. Undefined if the project has turned copying off. */
  readonly copied?: string | undefined;
  /** The time limit for the template. If undefined, only its number of steps is limited. */
  readonly time: TimeLimit | undefined;
};

export type LinkPage = {
  readonly html: string;
  readonly isTranslated: boolean;
  readonly headers: Readonly<Record<string, string>>;
};

/** Thrown for a template that the current rules reject. */
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

/**
 * Replaces an empty body with the starter template's. The starter template's CSS then comes first.
 */
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
  // A preview also has the policy in a meta element, because it may be shown without headers.
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

type PageBody = {
  readonly css: string;
  readonly body: string;
  readonly hasPictures: boolean;
  readonly isOurs: boolean;
};

/** Renders the template. If that fails, visitors see the starter template. */
function renderTemplate(input: PageInput): PageBody {
  compiledStarter ??= compileTemplate(starter);
  for (const template of [input.template, compiledStarter]) {
    const body = template && tryRender(template, input);
    if (body !== undefined) return body;
  }
  return { css: "", body: renderActions(input), hasPictures: false, isOurs: true };
}

function tryRender(
  { templates, css, isStarter: isOurs }: CompiledTemplate,
  input: PageInput,
): PageBody | undefined {
  const actions = isOurs ? renderActions(input) : renderButtons(input.buttons, templateForm);
  try {
    const made = renderLiquid(templates, buildVariables(input), input.time);
    const { html: body, hasPictures, hasInserted } = cleanHtml(made, actions);
    // A page without its buttons is not shown.
    return hasInserted ? { css, body, hasPictures, isOurs } : undefined;
  } catch {
    // Only a faulty template causes an error here.
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

type ActionsInput = {
  readonly platform: "ios" | "android" | "desktop";
  readonly buttons: readonly PageButton[];
  readonly language: PageLanguage;
  readonly within?: string | undefined;
  readonly phone?: PhoneSection | undefined;
};

function renderActions(actions: ActionsInput): string {
  const { buttons, language, phone } = actions;
  const texts: PageTexts = pageTexts[language];
  const form = { texts, isolates: true } as const;
  const first = "secondary" as const;
  return [
    renderLeaving(actions, texts),
    renderButtons(buttons, form),
    renderCode(phone, texts),
    // Next to the QR code, no button is primary.
    renderButtons(phone?.stores ?? [], { ...form, first }),
  ].join("");
}

/** Explains how to leave an in-app browser, because its Open button may have no effect. */
function renderLeaving({ platform, buttons, within }: ActionsInput, texts: PageTexts): string {
  if (within === undefined || buttons.every(({ kind }) => kind !== "open")) return "";
  const menu = platform === "android" && within !== "WeChat" ? "⋮" : "⋯";
  const how = fillText(texts.leave_how, {
    browser: `<bdi>${escapeText(within)}</bdi>`,
    menu: `<bdi>${menu}</bdi>`,
  });
  return `<div class="leave"><strong>${escapeText(texts.leave)}</strong><p>${how}</p></div>`;
}

function renderCode(phone: PhoneSection | undefined, texts: PageTexts): string {
  if (phone?.code === undefined) return "";
  const picture = `role="img" aria-label="${escapeText(texts.qr_code)}">${phone.code}`;
  const caption = `<figcaption>${escapeText(texts.scan)}</figcaption>`;
  return `<figure class="phone"><div class="phone-code" ${picture}</div>${caption}</figure>`;
}

/**
 * Renders metadata for link previews (Open Graph, Twitter), iOS (Smart App Banner, App Clip card)
 * and App Links.
 */
function renderHead(subject: PageSubject): string {
  const title = readVisibleTitle(subject);
  return [
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="light dark">',
    // Without this element, browsers would request a favicon from the link host.
    '<link rel="icon" href="data:,">',
    `<title>${escapeText(title)}</title>`,
    ...describeSharing(subject, title),
    ...describeApps(subject),
  ].join("");
}

function describeSharing({ link, project }: PageSubject, title: string): readonly string[] {
  const { social_description: description, social_image_url: address } = link;
  const image = isFilled(address) && isWebAddress(address) ? address : null;
  const text = isFilled(description) ? description : null;
  return [
    writeTag("name", "description", text),
    `<link rel="canonical" href="${escapeText(link.address)}">`,
    writeTag("property", "og:type", "website"),
    writeTag("property", "og:site_name", project.name),
    writeTag("property", "og:title", title),
    writeTag("property", "og:description", text),
    writeTag("property", "og:url", link.address),
    writeTag("property", "og:image", image),
    writeTag("name", "twitter:card", image === null ? "summary" : "summary_large_image"),
    writeTag("name", "twitter:title", title),
    writeTag("name", "twitter:description", text),
    writeTag("name", "twitter:image", image),
  ];
}

function describeApps({ link, apps, opened = link.address }: PageSubject): readonly string[] {
  const { ios, android } = apps;
  const ofIos = ios && [
    writeTag("name", "apple-itunes-app", describeBanner(opened, ios)),
    writeTag("property", "al:ios:url", addressIn(opened, ios.custom_scheme)),
    writeTag("property", "al:ios:app_store_id", ios.app_store_id),
    writeTag("property", "al:ios:app_name", ios.name),
  ];
  const ofAndroid = android && [
    writeTag("property", "al:android:url", addressIn(opened, android.custom_scheme)),
    writeTag("property", "al:android:package", android.package_name),
    writeTag("property", "al:android:app_name", android.name),
  ];
  return [...(ofIos ?? []), ...(ofAndroid ?? []), writeTag("property", "al:web:url", link.address)];
}

/** Describes the Smart App Banner. Commas separate its parts, so commas in the URL are encoded. */
function describeBanner(
  address: string,
  { app_store_id, clip_bundle_id }: PageIosApp,
): string | null {
  const parts = [
    isFilled(app_store_id) ? `app-id=${app_store_id}` : "",
    isFilled(clip_bundle_id) ? `app-clip-bundle-id=${clip_bundle_id}` : "",
    isFilled(clip_bundle_id) ? "app-clip-display=card" : "",
  ].filter(isFilled);
  if (parts.length === 0) return null;
  return [...parts, `app-argument=${address.replaceAll(",", "%2C")}`].join(", ");
}

/**
 * Returns the link's path with the app's custom scheme. Returns the link's URL if the app has no
 * scheme or we reject it. Remote servers may allow schemes that we reject.
 */
function addressIn(address: string, scheme: string | null): string {
  if (scheme === null || !isAppScheme(scheme)) return address;
  return address.replace(/^https?:\/\/[^/]*\/?/i, `${scheme}://`);
}

function writeTag(kind: "name" | "property", name: string, content: string | null): string {
  if (content === null) return "";
  return `<meta ${kind}="${name}" content="${escapeText(content)}">`;
}

/**
 * The script of a link's page. It reports the phone's properties, so that an app installed after
 * the visit can be matched to the link. It sends no cookies, and does not wait for the response.
 */
function renderScript(
  { visit, copied }: { readonly visit: string | undefined; readonly copied: string | undefined },
  nonce: string,
): string {
  const body =
    `{visit:${JSON.stringify(visit)},screen_width:s.width,screen_height:s.height,` +
    "device_pixel_ratio:devicePixelRatio,timezone:f.timeZone,calendar:f.calendar," +
    "language:n.language,languages:n.languages}";
  const sending =
    'fetch(location.href,{method:"POST",credentials:"omit",keepalive:true,' +
    `headers:{"content-type":"application/json"},body:JSON.stringify(${body})})`;
  const reading = "s=screen,n=navigator,f=Intl.DateTimeFormat().resolvedOptions()";
  const copying = copied === undefined ? "" : renderCopying(copied);
  // If no visit is recorded, as in a preview, nothing is sent.
  const report = visit === undefined ? "" : `${sending}.catch(()=>{});`;
  const script = `const ${reading};${report}${copying}`;
  return `<script nonce="${nonce}">(()=>{${script}})()</script>`;
}

/** Copies a URL when the App Store button is pressed. If copying fails, the button still works. */
function renderCopying(address: string): string {
  // Escaped, because a < in the URL could end the script element.
  const text = JSON.stringify(address).replaceAll("<", "\\u003c");
  const button = 'e.target.closest("a.store-button-app-store")';
  return `addEventListener("click",e=>{${button}&&n.clipboard?.writeText(${text}).catch(()=>{})})`;
}
