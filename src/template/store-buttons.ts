import { escapeText } from "../text/escape-html.ts";
import type { PageButton } from "./page-input.ts";

/**
 * The buttons that `{% store_buttons %}` puts into a page. Their markup is ours in every template,
 * which may style them by their classes.
 */
export function renderButtons(buttons: readonly PageButton[]): string {
  if (buttons.length === 0) return "";
  return `<div class="store-buttons">${buttons.map(renderButton).join("")}</div>`;
}

function renderButton({ kind, label, href }: PageButton, index: number): string {
  if (!isSafe(href)) return "";
  const classes = writeClasses(kind, index === 0 ? "primary" : "secondary");
  const text = `<span>${escapeText(label)}</span>`;
  return `<a class="${classes}" href="${escapeText(href)}">${icons[kind]}${text}</a>`;
}

export function writeClasses(kind: PageButton["kind"], rank: "primary" | "secondary"): string {
  return `store-button store-button-${rank} store-button-${kind.replace("_", "-")}`;
}

/** The last check of where a button leads: an address, and none that runs code in the page. */
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
