import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFault, renderNote, renderTable, shorten } from "../parts.ts";
import { readNumber, readRecords, readText } from "../read.ts";
import { renderTime } from "../render-changes.ts";

/** Where the project's events are sent, and how each receiver does. */
export const webhooksPage: Page = {
  path: /^\/webhooks$/,
  entry: {
    name: "Webhooks",
    address: "/webhooks",
    group: "Project",
    icon: "M2.5 8.5h3l2-5 2 9 2-5h2",
  },
  needs: "list_webhooks",
  show,
};

async function show({ account, url }: Visit): Promise<Reply> {
  const answer = await account.call("list_webhooks", {});
  const webhooks = answer.kind === "done" ? readRecords(answer.result, "webhooks") : [];
  const isLate = answer.kind === "done" && answer.result["delivers"] === false;
  const failed = answer.kind === "failed" ? answer.failure.message : undefined;
  const make = html`<a class="button main" href="/webhooks/new">New webhook</a>`;
  const table = renderTable(
    "Webhooks",
    columns,
    webhooks.map((webhook) => renderRow(webhook, account)),
  );
  const card = html`<section class="card" aria-label="Webhooks">${table}</section>`;
  const body = html`<div class="head">
      <h1>Webhooks</h1>
      ${account.mayUse("make_webhook") ? make : ""}
    </div>
    ${renderNote(url)} ${renderFault(failed)} ${isLate ? late : ""} ${renderMends(webhooks)}
    <p class="soft">
      Waypost sends events of this project to your programs. Messages are signed according to
      Standard Webhooks.
    </p>
    ${webhooks.length === 0 ? none : card}`;
  return { kind: "page", title: "Webhooks", body };
}

/** Over stdio there is a console, and nobody who delivers. */
const late = html`<p class="note">
  Only <code>waypost serve</code> sends messages, and it is not running for this data folder. Events
  wait until you start it.
</p>`;

const none = html`<p>No webhooks yet.</p>`;

const columns = [
  { name: "Address" },
  { name: "Last attempt", look: "late" },
  { name: "Waiting", look: "number slim late" },
  { name: "Failed", look: "number slim" },
];

const mostShown = 100;

function renderRow(webhook: JsonObject, account: Account): Html {
  const id = encodeURIComponent(readText(webhook, "id"));
  const last = renderLast(webhook, account);
  return html`<tr>
    <td>
      <a class="line" href="/webhooks/${id}">
        <bdi>${shorten(readText(webhook, "url"), mostShown)}</bdi>
      </a>
      <span class="granted">${describeEvents(webhook)}</span>
      <span class="line soft early">${last}</span>
    </td>
    <td class="late soft">${last}</td>
    <td class="number late">${readNumber(webhook, "waiting")}</td>
    <td class="number">${readNumber(webhook, "dead")}</td>
  </tr>`;
}

export function describeEvents(webhook: JsonObject): string {
  const events: readonly unknown[] = Array.isArray(webhook["events"]) ? webhook["events"] : [];
  return events.map(String).join(", ");
}

/** What mends that receivers do not take anything, where it is known: once for all of them. */
export function renderMends(webhooks: readonly JsonObject[]): readonly Html[] {
  const mends = new Set(webhooks.map((webhook) => readText(webhook, "next")));
  mends.delete("");
  return [...mends].map((mend) => html`<p class="note">${mend}.</p>`);
}

/** What came of the last attempt, and when that was. */
export function renderLast(webhook: JsonObject, account: Account): Html | string {
  const at = renderTime(readText(webhook, "last_at"), account);
  if (at === "") return "nothing sent yet";
  const fault = readText(webhook, "last_fault");
  return html`${fault === "" ? "delivered" : `failed: ${fault}`}, ${at}`;
}
