import type { JsonObject } from "../../contract/json.ts";
import { writeLabel } from "../../text/write-label.ts";
import type { Failure } from "../account.ts";
import { act } from "../act.ts";
import { renderGuard, type Values } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import {
  renderCopy,
  renderHidden,
  renderFault,
  renderLinkHead,
  renderNote,
  tellDone,
} from "../parts.ts";
import { readParam, readRecord, readText, writeFrom } from "../read.ts";
import { renderHistory } from "../render-changes.ts";
import {
  hasTyped,
  readForm,
  readSent,
  saveChanged,
  showUnread,
  type Again,
} from "../save-changed.ts";
import { linkFields, readValues, renderFields, writeChanges } from "./link-fields.ts";
import { gone, idPattern } from "./link-place.ts";
import { markDraft, renderLinkPreview } from "./link-preview.ts";
import { renderQr } from "./link-qr.ts";
import { renderLinkStats } from "./statistics.ts";
import { renderVisits } from "./visits.ts";

/** One link: its address, what its visitors meet, its fields and its history. */

export const linkPage: Page = {
  path: new RegExp(`^${idPattern}$`),
  needs: "get_link",
  show: (visit) => show(visit, {}),
  submit: save,
};

export const deleteLinkPage: Page = {
  path: new RegExp(`^${idPattern}/delete$`),
  needs: "delete_link",
  // Whoever opens the address alone has not pressed anything.
  show: (visit) => Promise.resolve({ kind: "go", to: writeAddress(visit) }),
  submit: async (visit, form) => {
    const id = readParam(visit.params, "id");
    const back = writeAddress(visit);
    const ended = await act(visit, form, {
      run: () => visit.account.call("delete_link", { id }),
      back,
    });
    if (ended.kind === "reply") return ended.reply;
    if (ended.kind === "failed") return show(visit, { refused: ended.failure.message });
    return { kind: "go", to: tellDone(readBack(visit.url), "deleted") };
  },
};

/** Also where one of its forms was sent, with the place in the list. */
function writeAddress({ params, url }: Visit, suffix = ""): string {
  return `/links/${encodeURIComponent(readParam(params, "id"))}${suffix}${writeFrom(url)}`;
}

type Told = Again & {
  /** Why it was not deleted. */
  readonly refused?: string;
};

async function show(visit: Visit, again: Told): Promise<Reply> {
  const { account, params } = visit;
  const id = readParam(params, "id");
  const [found, answer] = await Promise.all([
    account.readRecord("link", id),
    account.call("get_link", { id }),
  ]);
  if (found === undefined) return gone;
  if (found.kind === "failed") return showFailed(visit, again, found.failure);
  if (answer.kind === "failed" && answer.failure.code !== "not_found") {
    return showFailed(visit, again, answer.failure);
  }
  if (answer.kind !== "done") return gone;
  const link = readRecord(answer.result, "link");
  const values = readValues(found.result);
  const { typed, was } = readForm(visit, linkFields, values, again);
  const title = readText(link, "name") || `/${readText(link, "path")}`;
  const [fields, side, stats] = await Promise.all([
    account.mayUse("update_link")
      ? renderForm(visit, { typed, was, failure: again.failure, isTyped: hasTyped(visit, again) })
      : renderRecord(values),
    renderSide(visit, link, id),
    renderLinkStats(visit, id),
  ]);
  const beside = renderDelete(visit);
  const body = html`${renderLinkHead(title, { back: readBack(visit.url), beside })}
    ${renderNote(visit.url)} ${renderFault(again.refused)}
    <div class="columns">
      <div class="column">
        ${renderAddresses(link)} ${stats}
        <section class="card" aria-label="Fields"><div class="inside">${fields}</div></section>
      </div>
      <div class="column">${side}</div>
    </div>`;
  const isRefused = again.failure !== undefined || again.refused !== undefined;
  const status = isRefused ? 422 : 200;
  const hasFrames = account.mayUse("preview_template");
  return { kind: "page", title, body, status, hasFrames };
}

/** What somebody has typed is there, also where the link cannot be read. */
async function showFailed(visit: Visit, again: Told, why: Failure): Promise<Reply> {
  const failure = again.failure ?? why;
  const mayTell = hasTyped(visit, again) && visit.account.mayUse("update_link");
  return showUnread({
    title: "Link",
    head: renderLinkHead("Link", { back: readBack(visit.url) }),
    form: mayTell
      ? await renderForm(visit, { ...readForm(visit, linkFields, {}, again), failure })
      : undefined,
    fault: again.refused ?? why.message,
  });
}

/** The list as it was left. */
function readBack({ searchParams }: URL): string {
  const from = searchParams.get("from") ?? "";
  return from === "" ? "/links" : `/links?${String(new URLSearchParams(from))}`;
}

function renderAddresses(link: JsonObject): Html | string {
  const [address, short] = [readText(link, "address"), readText(link, "short_address")];
  if (address === "") return renderUnknownAddress();
  return html`<section class="card" aria-label="Address">
    <div class="inside">
      ${renderCopy(address, "address", "Copy the address")}
      ${short === "" ? "" : renderCopy(short, "short", "Copy the address with the short path")}
    </div>
  </section>`;
}

/** Of a deployment elsewhere nobody here knows where its links live, unless that is set. */
function renderUnknownAddress(): Html {
  return html`<section class="card" aria-label="Address">
    <div class="inside">
      <p class="soft">
        Waypost does not know the link host of the remote server, so it cannot show this link's
        address or QR code. The operator can set the link host with
        <code>WAYPOST_LINK_ORIGIN</code>.
      </p>
    </div>
  </section>`;
}

type Shown = {
  readonly typed: Values;
  readonly was: Values;
  readonly failure: Failure | undefined;
  /** Whether it may show something else than its preview; left out where there is none. */
  readonly isTyped?: boolean;
};

async function renderForm(visit: Visit, { typed, was, failure, isTyped }: Shown): Promise<Html> {
  const { account, formToken, params } = visit;
  const id = readParam(params, "id");
  const drafted = isTyped === undefined ? "" : markDraft(account, id, isTyped);
  return html`<form
    method="post"
    action="${writeAddress(visit)}"
    class="stack"
    ${drafted}
    ${renderGuard(isTyped !== false)}
  >
    ${renderHidden("form_token", formToken)}
    ${await renderFields({ account, values: typed, shown: was, failure })}
    <div class="buttons"><button class="main">Save</button></div>
  </form>`;
}

/** For a key that may only look. */
function renderRecord(values: Values): Html {
  const rows = Object.entries(values).filter(([, value]) => value !== "");
  return html`<dl class="facts">
    ${rows.map(
      ([name, value]) =>
        html`<div>
          <dt>${writeLabel(name)}</dt>
          <dd dir="auto">${value}</dd>
        </div>`,
    )}
  </dl>`;
}

function renderDelete(visit: Visit): Html | string {
  if (!visit.account.mayUse("delete_link")) return "";
  return html`<form method="post" action="${writeAddress(visit, "/delete")}">
    ${renderHidden("form_token", visit.formToken)}<button class="grave">Delete…</button>
  </form>`;
}

async function renderSide(visit: Visit, link: JsonObject, id: string): Promise<Html> {
  const { account } = visit;
  const address = readText(link, "address");
  const [svg, visits, history] = await Promise.all([
    address === "" ? undefined : account.qr.drawSvg(address),
    account.mayUse("explain_link") ? account.call("explain_link", { id }) : undefined,
    renderHistory(visit, id),
  ]);
  const shown = visits?.kind === "done" ? visits.result : {};
  return html`${renderLinkPreview(account, id, readRecord(shown, "visits"))}
  ${visits?.kind === "done" ? renderVisits(visits.result) : ""}
  ${svg === undefined ? "" : renderQr(svg, id)} ${history}`;
}

async function save(visit: Visit, form: Form): Promise<Reply> {
  const id = readParam(visit.params, "id");
  const found = await visit.account.readRecord("link", id);
  if (found === undefined) return gone;
  if (found.kind === "failed") {
    return showFailed(visit, readSent(linkFields, form), found.failure);
  }
  const saved = await saveChanged(visit, form, {
    fields: linkFields,
    save: (typed, names) =>
      visit.account.call("update_link", { id, ...writeChanges(typed, names) }),
    now: readValues(found.result),
    back: writeAddress(visit),
  });
  return saved.kind === "again" ? show(visit, saved.again) : saved;
}
