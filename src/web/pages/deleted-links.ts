import { act } from "../act.ts";
import { html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderFault, renderHidden, renderLinkHead, renderTable } from "../parts.ts";
import type { JsonObject } from "../../contract/json.ts";
import { readNumber, readRecord, readRecords, readText } from "../read.ts";
import { renderTime } from "../render-changes.ts";

/** Links that were deleted through Waypost, and the way back while they are in the bin. */
export const deletedLinksPage: Page = {
  path: /^\/links\/deleted$/,
  needs: "list_changes",
  show: (visit) => show(visit),
  submit: restore,
};

/** So many pages of the history are looked through. */
const mostPages = 10;

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const deleted = await listDeleted(visit);
  const rows = deleted.map((change) => renderRow(change, visit));
  const list =
    rows.length === 0
      ? html`<div class="empty"><p>Nothing was deleted lately.</p></div>`
      : renderTable("Deleted links", columns, rows);
  const body = html`${renderLinkHead("Deleted links")} ${renderFault(fault)}
    <p class="soft">
      They are kept for 30 days. What is restored has its address and clicks again.
    </p>
    <section class="card" aria-label="Deleted links">${list}</section>`;
  return { kind: "page", title: "Deleted links", body };
}

const columns = [
  { name: "Link" },
  { name: "Deleted", look: "late" },
  { name: "Back", look: "number" },
];

async function listDeleted({ account }: Visit): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  for (let page = 1; page <= mostPages; page += 1) {
    const answer = await account.call("list_changes", { page });
    if (answer.kind !== "done") break;
    found.push(...readRecords(answer.result, "changes").filter(isDeletion));
    if (page >= readNumber(readRecord(answer.result, "meta"), "last")) break;
  }
  return found;
}

function isDeletion(change: JsonObject): boolean {
  const isOfLink = readText(readRecord(change, "target"), "kind") === "link";
  return (
    isOfLink && readText(change, "tool") === "delete_link" && change["undone_by"] === undefined
  );
}

function renderRow(change: JsonObject, { account, formToken }: Visit) {
  const name = readText(readRecord(change, "target"), "name");
  const { from } = readRecord(readRecord(change, "fields"), "path");
  const path = typeof from === "string" ? `/${from}` : "";
  const time = renderTime(readText(change, "at"));
  const form = html`<form method="post" action="/links/deleted">
    ${renderHidden("form_token", formToken)} ${renderHidden("change_id", readText(change, "id"))}
    <button class="small" aria-label="Restore ${name || path}">Restore</button>
  </form>`;
  return html`<tr>
    <td>
      <span class="line" dir="auto">${name || path}</span>
      <span class="line soft" dir="auto">${name === "" ? "" : path}</span>
      <span class="line soft early">${time}</span>
    </td>
    <td class="late soft">${time}</td>
    <td class="number">${account.mayUse("undo") ? form : ""}</td>
  </tr>`;
}

async function restore(visit: Visit, form: Form): Promise<Reply> {
  const args = { change_id: form.read("change_id") };
  const ended = await act(visit, form, { tool: "undo", args, back: "/links/deleted" });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return show(visit, ended.failure.message);
  return { kind: "go", to: "/links?done=restored" };
}
