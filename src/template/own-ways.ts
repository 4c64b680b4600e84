import { escapeText } from "../text/escape-html.ts";
import type { PageButton, PhoneWays } from "./page-input.ts";
import { pageTexts, type PageLanguage, type PageTexts } from "./page-texts.ts";
import { fillText, renderButtons } from "./store-buttons.ts";

/** Where a page of our own design leads, in the visitor's language. */

type Ways = {
  readonly platform: "ios" | "android" | "desktop";
  readonly buttons: readonly PageButton[];
  readonly language: PageLanguage;
  readonly within?: string | undefined;
  readonly phone?: PhoneWays | undefined;
};

export function renderOwnWays(ways: Ways): string {
  const { buttons, language, phone } = ways;
  const texts: PageTexts = pageTexts[language];
  const form = { texts, isolates: true } as const;
  const first = "secondary" as const;
  return [
    renderLeaving(ways, texts),
    renderButtons(buttons, form),
    renderCode(phone, texts),
    // Beside the code none of the stores is the main way.
    renderButtons(phone?.stores ?? [], { ...form, first }),
  ].join("");
}

/** Within some apps the button that opens another app does nothing. */
function renderLeaving({ platform, buttons, within }: Ways, texts: PageTexts): string {
  if (within === undefined || buttons.every(({ kind }) => kind !== "open")) return "";
  const menu = platform === "android" && within !== "WeChat" ? "⋮" : "⋯";
  const how = fillText(texts.leave_how, {
    browser: `<bdi>${escapeText(within)}</bdi>`,
    menu: `<bdi>${menu}</bdi>`,
  });
  return `<div class="leave"><strong>${escapeText(texts.leave)}</strong><p>${how}</p></div>`;
}

function renderCode(phone: PhoneWays | undefined, texts: PageTexts): string {
  if (phone?.code === undefined) return "";
  const picture = `role="img" aria-label="${escapeText(texts.qr_code)}">${phone.code}`;
  const caption = `<figcaption>${escapeText(texts.scan)}</figcaption>`;
  return `<figure class="phone"><div class="phone-code" ${picture}</div>${caption}</figure>`;
}
