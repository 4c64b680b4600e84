import { escapeText } from "../text/escape.ts";
import type { PageButton } from "./page-input.ts";
import { pageTexts, type PageTexts } from "./page-texts.ts";

/** Renders the buttons of a page: for the app, the stores and the web. */

/** The language and style of the store buttons. */
export type ButtonForm = {
  readonly texts: PageTexts;
  /** True to shorten app names, and to isolate them from the text direction of the page. */
  readonly isolates: boolean;
  /** The first button's style; primary by default. */
  readonly first?: Rank;
};

/** The language and style of the buttons in all templates other than the starter template. */
export const templateForm: ButtonForm = { texts: pageTexts.en, isolates: false };

type Rank = "primary" | "secondary";

/**
 * Renders the buttons for `{% store_buttons %}`. Their markup is the same in every template, and
 * templates can style them by class.
 */
export function renderButtons(buttons: readonly PageButton[], form: ButtonForm): string {
  if (buttons.length === 0) return "";
  const written = buttons.map((button, index) => renderButton(button, index, form));
  return `<div class="store-buttons">${written.join("")}</div>`;
}

function renderButton(button: PageButton, index: number, form: ButtonForm): string {
  const { kind, href } = button;
  if (!isSafe(href)) return "";
  const classes = writeClasses(kind, index === 0 ? (form.first ?? "primary") : "secondary");
  const text = `<span>${renderLabel(button, form)}</span>`;
  return `<a class="${classes}" href="${escapeText(href)}">${icons[kind]}${text}</a>`;
}

function renderLabel({ kind, app }: PageButton, { texts, isolates }: ButtonForm): string {
  if (kind !== "open") return escapeText(texts[kind]);
  if (app === null) return escapeText(texts.open_app);
  if (!isolates) return fillText(texts.open, { app: escapeText(app) });
  const letters = Array.from(app);
  const name = letters.length > mostLetters ? `${letters.slice(0, mostLetters).join("")}…` : app;
  return fillText(texts.open, { app: `<bdi>${escapeText(name)}</bdi>` });
}

/** The app stores' limit for app names. Longer names would not fit on a button. */
const mostLetters = 30;

export function fillText(text: string, markup: Readonly<Record<string, string>>): string {
  return escapeText(text).replace(/\{(\w+)\}/g, (place, name: string) => markup[name] ?? place);
}

function writeClasses(kind: PageButton["kind"], rank: Rank): string {
  return `store-button store-button-${rank} store-button-${kind.replace("_", "-")}`;
}

/** An additional check that a button's URL cannot run code in the page. */
function isSafe(href: string): boolean {
  const [, scheme] = /^([a-z][a-z0-9+.-]*):[\x21-\x7e]+$/i.exec(href) ?? [];
  const runs = ["javascript", "data", "vbscript", "blob", "file", "filesystem", "about"];
  return scheme !== undefined && !runs.includes(scheme.toLowerCase());
}

const icons: Readonly<Record<PageButton["kind"], string>> = {
  open: draw("M7 17 17 7M8 7h9v9"),
  app_store: draw("M12 4v11m-5-4.5 5 5 5-5M5 20h14"),
  play_store: draw("M12 4v11m-5-4.5 5 5 5-5M5 20h14"),
  continue: draw("M4 12h15m-6-6 6 6-6 6"),
};

function draw(path: string): string {
  const stroke = 'stroke="currentColor" stroke-width="2" stroke-linecap="round"';
  const svg = `<svg viewBox="0 0 24 24" width="20" height="20" fill="none" ${stroke}`;
  return `${svg} stroke-linejoin="round" aria-hidden="true"><path d="${path}"/></svg>`;
}
