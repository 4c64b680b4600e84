import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import {
  platforms,
  readPlatform,
  renderDevice,
  renderLeave,
  renderLooks,
  renderPlatforms,
  showHost,
  type Platform,
} from "../device.ts";
import { looks, readLook, writeFramed } from "../framed-page.ts";
import { html, type Html } from "../html.ts";
import type { Page } from "../page.ts";
import { shorten } from "../parts.ts";
import { readParam, readRecord, readText } from "../read.ts";
import { idPattern } from "./link-place.ts";
import { mostOfAddress } from "./visits.ts";
import { readVersion, type TemplateText } from "./template-text.ts";

/** The page of a link as its visitors meet it, on each device, by day and by night. */

/** One of the devices is seen at a time, and its page is asked for when it is seen. */
export function renderLinkPreview(account: Account, id: string, visits: JsonObject): Html | string {
  if (!account.mayUse("preview_template")) return "";
  const address = `/links/${encodeURIComponent(id)}/page`;
  const host = showHost(account.host);
  const devices = platforms.map((platform) => {
    const outcome = findSeen(visits, platform);
    if (readText(outcome, "action") === "redirect") {
      const to = html`<bdi>${shorten(readText(outcome, "to"), mostOfAddress)}</bdi>`;
      return renderLeave(platform, html`No page: visitors go straight on to ${to}`);
    }
    return looks.map((look) => {
      const source = `${address}?platform=${platform}&look=${look}`;
      return renderDevice({ platform, look, source, host });
    });
  });
  const template = account.mayUse("get_template_version")
    ? html`<p class="hint">
        <a href="/template?link=${encodeURIComponent(id)}">Change this page for all links</a>
      </p>`
    : "";
  return html`<section class="card looking" aria-labelledby="preview">
    <header>
      <h2 id="preview">Preview</h2>
      ${renderLooks("light")}
    </header>
    <div class="inside">
      ${renderPlatforms("ios")}
      <div class="stage">${devices}</div>
      ${template}
    </div>
  </section>`;
}

/** Who has the app goes there at once, and sees no page. */
function findSeen(visits: JsonObject, platform: Platform): JsonObject {
  const outcome = readRecord(visits, platform);
  return platform === "desktop" ? outcome : readRecord(outcome, "without_app");
}

export const linkFramePage: Page = {
  path: new RegExp(`^${idPattern}/page$`),
  needs: "preview_template",
  show: async ({ account, params, url }) => {
    const { searchParams } = url;
    const markup = await drawPage(account, {
      link_id: readParam(params, "id"),
      platform: readPlatform(searchParams.get("platform")),
    });
    return { kind: "frame", markup: writeFramed(markup, readLook(searchParams.get("look"))) };
  },
};

async function drawPage(account: Account, wanted: JsonObject): Promise<string> {
  const text = await readShownText(account);
  if (text === undefined) return renderNothing("Nobody here knows the page that links show.");
  const answer = await account.call("preview_template", { ...text, ...wanted, html: true });
  if (answer.kind === "done") return readText(answer.result, "html");
  return renderNothing(answer.kind === "failed" ? answer.failure.message : "");
}

/** What links show: the version that is live, or else the default page, which is the starter's. */
async function readShownText(account: Account): Promise<TemplateText | undefined> {
  const live = await readVersion(account, "live");
  const shown = live.kind === "none" ? await readVersion(account, "starter") : live;
  return shown.kind === "text" ? shown.text : undefined;
}

function renderNothing(text: string): string {
  return String(
    html`<!doctype html>
      <meta name="color-scheme" content="light dark" />
      <style>
        body {
          font:
            1rem/1.5 system-ui,
            sans-serif;
          padding: 2rem;
          text-align: center;
        }
      </style>
      <p>This page cannot be shown. ${text}</p>`,
  );
}
