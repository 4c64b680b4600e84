import { writeFieldsInWords } from "../../text/write-label.ts";
import { html, type Html, type Part } from "../html.ts";
import { renderCard, renderList, shorten } from "../parts.ts";
import type { ExplainedLink, MobileOutcomes, Outcome } from "../records.ts";

/** What visitors see on each platform, and what is wrong with it. */
export function renderVisits({ visits, problems = [] }: ExplainedLink): Html {
  const outcomes = [
    renderMobile("iPhone", visits.ios),
    renderMobile("Android", visits.android),
    renderPlatform("Computer", describe(visits.desktop)),
  ];
  const warnings = problems.map(
    ({ message }) => html`<p class="warning">${writeFieldsInWords(message)}</p>`,
  );
  return renderCard("What visitors see", { inside: [renderList(outcomes), warnings] });
}

function renderMobile(name: string, { with_app, without_app }: MobileOutcomes): Html {
  if (with_app.action !== "open_app") return renderPlatform(name, describe(without_app));
  const without = html`<p class="soft">Without the app: ${describe(without_app)}</p>`;
  return renderPlatform(name, "Opens the app.", without);
}

function renderPlatform(name: string, outcome: Part, more?: Part): Html {
  return html`<li>
    <h3>${name}</h3>
    <p>${outcome}</p>
    ${more}
  </li>`;
}

/** The form has the whole address. */
export const mostOfAddress = 200;

function describe({ action, to = "" }: Outcome): Part {
  const end = html`<bdi>${shorten(to, mostOfAddress)}</bdi>`;
  if (action === "redirect") return html`Redirects to ${end}`;
  if (action !== "preview_page") {
    return "Shows the default page, because the link has no destination on this device.";
  }
  return to === "" ? "Shows the preview page." : html`Shows the preview page, which opens ${end}`;
}
