import type { JsonObject } from "../../contract/json.ts";
import { writeFieldsInWords } from "../../text/write-label.ts";
import { html, type Html } from "../html.ts";
import { shorten } from "../parts.ts";
import { readRecord, readRecords, readText } from "../read.ts";

/** What each platform's visitor meets, and what is wrong about that. */

export function renderVisits(result: JsonObject): Html {
  const visits = readRecord(result, "visits");
  const problems = readRecords(result, "problems");
  return html`<section class="card" aria-labelledby="visits">
    <h2 id="visits">What visitors see</h2>
    <div class="inside">
      <ul class="list">
        ${renderMobile("iPhone", readRecord(visits, "ios"))}
        ${renderMobile("Android", readRecord(visits, "android"))}
        ${renderPlatform("Computer", readRecord(visits, "desktop"))}
      </ul>
      ${problems.map(renderProblem)}
    </div>
  </section>`;
}

function renderProblem(problem: JsonObject): Html {
  return html`<p class="warning">${writeFieldsInWords(readText(problem, "message"))}</p>`;
}

function renderMobile(name: string, outcomes: JsonObject): Html {
  const [with_app, without_app] = [
    readRecord(outcomes, "with_app"),
    readRecord(outcomes, "without_app"),
  ];
  if (readText(with_app, "action") !== "open_app") return renderPlatform(name, without_app);
  return html`<li>
    <h3>${name}</h3>
    <p>Opens the app.</p>
    <p class="soft">Without the app: ${describe(without_app)}</p>
  </li>`;
}

function renderPlatform(name: string, outcome: JsonObject): Html {
  return html`<li>
    <h3>${name}</h3>
    <p>${describe(outcome)}</p>
  </li>`;
}

/** The whole of it stands in the form. */
export const mostOfAddress = 200;

function describe(outcome: JsonObject): Html | string {
  const to = shorten(readText(outcome, "to"), mostOfAddress);
  const end = html`<bdi>${to}</bdi>`;
  switch (readText(outcome, "action")) {
    case "redirect":
      return html`Redirects to ${end}`;
    case "preview_page":
      return to === ""
        ? "Shows the preview page."
        : html`Shows the preview page, which opens ${end}`;
    default:
      return "Shows the default page, because the link has no destination on this device.";
  }
}
