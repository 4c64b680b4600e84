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
import { readVersion, type TemplateText } from "./template-text.ts";
import { mostOfAddress } from "./visits.ts";

/** The page of a link as its visitors meet it, on each device, by day and by night. */

/** In addresses of pages: a link that is not there yet. */
export const newId = "new";

/** Whether its page is drawn of what somebody types; a deployment elsewhere draws what it has. */
export function canDraft({ isOwn, mayUse }: Account, id: string): boolean {
  const tool = id === newId ? "create_link" : "update_link";
  return isOwn && mayUse("preview_template") && mayUse(tool);
}

const draftForm = "draft";

/** By what the script knows the form; `isTyped` where it shows something else than is saved. */
export function markDraft(account: Account, id: string, isTyped: boolean): Html | string {
  if (!canDraft(account, id)) return "";
  const typed = isTyped ? html` data-typed` : "";
  return html` id="${draftForm}" data-draft="${writeAddress(id, "draft")}" ${typed}`;
}

function writeAddress(id: string, page: "draft" | "page"): string {
  return `/links/${encodeURIComponent(id)}/${page}`;
}

/** One of the devices is seen at a time, and its page is asked for when it is seen. */
export function renderLinkPreview(account: Account, id: string, visits: JsonObject): Html | string {
  if (!account.mayUse("preview_template")) return "";
  const stage = platforms.map((platform) => {
    const source = `${writeAddress(id, "page")}?platform=${platform}&`;
    return renderStage(account, { platform, visits, source });
  });
  return renderCard(account, { id, stage });
}

/** Only a script has it drawn. */
export function renderNewPreview(account: Account): Html | string {
  return canDraft(account, newId) ? renderCard(account, { id: newId, stage: [] }) : "";
}

type Card = {
  readonly id: string;
  readonly stage: readonly Html[];
  readonly platform?: Platform;
  /** Why there is nothing to be seen. */
  readonly fault?: string;
};

export function renderCard(
  account: Account,
  { id, stage, platform = "ios", fault = "" }: Card,
): Html {
  const isNew = id === newId;
  const form = canDraft(account, id) ? draftForm : undefined;
  const link = isNew ? "" : `?link=${encodeURIComponent(id)}`;
  const template = account.mayUse("get_template_version")
    ? html`<p class="hint"><a href="/template${link}">Edit this page for all links</a></p>`
    : "";
  return html`<section class="card looking${isNew ? " drawn" : ""}" aria-labelledby="preview">
    <header>
      <h2 id="preview">Preview</h2>
      ${renderLooks("light")}
    </header>
    <div class="inside">
      ${renderPlatforms(platform, form)}
      <div class="stage" id="stage">${stage}</div>
      <p class="hint" id="findings" data-drafted>${fault}</p>
      ${template}
    </div>
  </section>`;
}

type Seen = {
  readonly platform: Platform;
  readonly visits: JsonObject;
  /** Where its page is, up to the look. */
  readonly source: string;
};

/** What visitors with this device meet. */
export function renderStage({ host }: Account, { platform, visits, source }: Seen): Html {
  const outcome = findSeen(visits, platform);
  if (readText(outcome, "action") === "redirect") {
    const to = html`<bdi>${shorten(readText(outcome, "to"), mostOfAddress)}</bdi>`;
    return renderLeave(platform, html`No preview page: visitors are redirected to ${to}`);
  }
  return html`${looks.map((look) =>
    renderDevice({ platform, look, source: `${source}look=${look}`, host: showHost(host) }),
  )}`;
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
  if (text === undefined) return renderNothing(unknownText);
  const answer = await account.call("preview_template", { ...text, ...wanted, html: true });
  if (answer.kind === "done") return readText(answer.result, "html");
  return renderNothing(answer.kind === "failed" ? answer.failure.message : "");
}

export const unknownText = "Waypost could not read the page template.";

/** What links show: the version that is live, or else the default page, which is the starter's. */
export async function readShownText(account: Account): Promise<TemplateText | undefined> {
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
