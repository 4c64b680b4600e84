import type { JsonObject } from "../../contract/json.ts";
import { writeFieldsInWords } from "../../text/write-label.ts";
import type { Account } from "../account.ts";
import {
  looks,
  platforms,
  readLook,
  readPlatform,
  renderDevice,
  renderLeave,
  renderLooks,
  renderPlatforms,
  writeFramed,
  type DevicePlatform,
} from "../device.ts";
import { listChanged, readShown, readTyped, readValues } from "../form-fields.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import { renderCard, renderList, shorten, showHost } from "../parts.ts";
import { readParam } from "../read-address.ts";
import { showGone } from "../record-page.ts";
import type { LinkExplanation, MobileOutcomes, ShownOutcome } from "../records.ts";
import { linkFields, writeChanges } from "./link-fields.ts";
import { gone, idPattern } from "./link-query.ts";
import { findKept, readVersion, tooLong } from "./template-preview.ts";

/** Previews a link's page on each device, in light and dark. */

/** The placeholder for the ID in the URLs of an unsaved link. */
const newId = "new";

/** Whether unsaved input can be previewed. A remote server previews only saved links. */
function canDraft({ isOwn, mayUse }: Account, id: string): boolean {
  const tool = id === newId ? "create_link" : "update_link";
  return isOwn && mayUse("preview_template") && mayUse(tool);
}

const draftForm = "draft";

/** Marks the form for the preview script. `isTyped`: the form has unsaved input. */
export function markDraft(account: Account, id: string, isTyped: boolean): Html | undefined {
  if (!canDraft(account, id)) return undefined;
  const typed = isTyped && html` data-typed`;
  return html` id="${draftForm}" data-draft="${writeAddress(id, "draft")}" ${typed}`;
}

function writeAddress(id: string, page: "draft" | "page"): string {
  return `/links/${encodeURIComponent(id)}/${page}`;
}

type ExplainedVisits = LinkExplanation["visits"] | undefined;

/** Shows one device at a time. A device's page is loaded when the device becomes visible. */
export function renderLinkPreview(account: Account, id: string, visits: ExplainedVisits): Part {
  if (!account.mayUse("preview_template")) return "";
  const stage = platforms.map((platform) => {
    const source = `${writeAddress(id, "page")}?platform=${platform}&`;
    return renderStage(account, { platform, visits, source });
  });
  return renderPreview(account, { id, stage });
}

export function renderNewPreview(account: Account): Html | undefined {
  return canDraft(account, newId) ? renderPreview(account, { id: newId, stage: [] }) : undefined;
}

type LinkPreviewStage = {
  readonly id: string;
  readonly stage: readonly Part[];
  readonly platform?: DevicePlatform;
  readonly fault?: string;
};

function renderPreview(
  account: Account,
  { id, stage, platform = "ios", fault }: LinkPreviewStage,
): Html {
  const isNew = id === newId;
  const form = canDraft(account, id) ? draftForm : undefined;
  const link = isNew ? "" : `?link=${encodeURIComponent(id)}`;
  const template = html`<p class="hint">
    <a href="/template${link}">Edit this page for all links</a>
  </p>`;
  return renderCard("Preview", {
    look: isNew ? "looking drawn" : "looking",
    actions: renderLooks("light"),
    inside: html`${renderPlatforms(platform, form)}
      <div class="stage" id="stage">${stage}</div>
      <p class="hint" id="findings" data-drafted>${fault}</p>
      ${account.mayUse("get_template_version") && template}`,
  });
}

type Stage = {
  readonly platform: DevicePlatform;
  readonly visits: ExplainedVisits;
  /** The URL of the device's page, without the color scheme. */
  readonly source: string;
};

function renderStage({ host }: Account, { platform, visits, source }: Stage): Part {
  const { action, to = "" } = findOutcome(visits, platform) ?? {};
  if (action === "redirect") {
    const end = html`<bdi>${shorten(to, mostOfAddress)}</bdi>`;
    return renderLeave(platform, html`No preview page: visitors are redirected to ${end}`);
  }
  return looks.map((look) =>
    renderDevice({ platform, look, source: `${source}look=${look}`, host: showHost(host) }),
  );
}

/** Finds the outcome for a visitor without the app. Visitors with the app see no page. */
function findOutcome(visits: ExplainedVisits, platform: DevicePlatform) {
  return platform === "desktop" ? visits?.desktop : visits?.[platform].without_app;
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

async function drawPage(account: Account, shown: JsonObject): Promise<string> {
  const text = await readShownText(account);
  if (text === undefined) return renderNothing(unknownText);
  const answer = await account.call("preview_template", { ...text, ...shown, html: true });
  if (answer.kind === "failed") return renderNothing(answer.failure.message);
  return answer.result.html ?? "";
}

const unknownText = "Waypost could not read the page template.";

/** Reads the live template, or the starter template if none is live. */
async function readShownText(account: Account) {
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

/** Previews the unsaved input of a link's form. */
export const linkDraftPage: Page = {
  path: new RegExp(`^${idPattern}/draft$`),
  needs: ["create_link", "update_link"],
  show: ({ params }) => {
    return { kind: "go", to: `/links/${encodeURIComponent(readParam(params, "id"))}` };
  },
  submit,
};

async function submit({ account, params }: PageRequest, form: Form): Promise<Reply> {
  const id = readParam(params, "id");
  if (!canDraft(account, id)) return showGone(gone);
  const platform = readPlatform(form.read("platform"));
  const drawn = await drawDraft(account, id, platform, form);
  const preview = typeof drawn === "string" ? { stage: [], fault: drawn } : { stage: [drawn] };
  const body = renderPreview(account, { id, platform, ...preview });
  return { kind: "page", title: "Preview", body, hasFrames: true };
}

async function drawDraft(account: Account, id: string, platform: DevicePlatform, form: Form) {
  const isNew = id === newId;
  const was = isNew ? readValues(linkFields, {}) : readShown(linkFields, form);
  const typed = readTyped(linkFields, form);
  const text = await readShownText(account);
  if (text === undefined) return unknownText;
  // Sends only the changed fields, as when saving.
  const fields = writeChanges(typed, listChanged(linkFields, was, typed));
  const link = isNew ? {} : { link_id: id };
  const args = { ...text, ...link, platform };
  const answer = await account.call("preview_template", args, { link_fields: fields });
  if (answer.kind === "failed") return `No preview yet: ${answer.failure.message}`;
  const page = findKept(answer.result);
  if (page === undefined) return tooLong;
  const all = linkFields.map(({ name }) => name);
  const explained = await account.tryCall("explain_link", writeChanges(typed, all));
  return [renderStage(account, { platform, visits: explained?.visits, source: `${page}?` })];
}

export function renderVisits({ visits, problems = [] }: LinkExplanation): Html {
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

/** Longer URLs are truncated here. The form shows them in full. */
const mostOfAddress = 200;

function describe({ action, to = "" }: ShownOutcome): Part {
  const end = html`<bdi>${shorten(to, mostOfAddress)}</bdi>`;
  if (action === "redirect") return html`Redirects to ${end}`;
  if (action !== "preview_page") {
    return "Shows the default page, because the link has no destination on this device.";
  }
  return to === "" ? "Shows the preview page." : html`Shows the preview page, which opens ${end}`;
}
