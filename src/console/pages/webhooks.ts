import type { ListedWebhook } from "../../admin/webhooks.ts";
import type { Account } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { Page, Reply, Visit } from "../page.ts";
import { renderFault, renderNote, renderTable, shorten } from "../parts.ts";
import { renderTime } from "../render-changes.ts";

export const webhookList = { name: "Webhooks", address: "/webhooks" };

/** The project's webhooks, with the last attempt and the failed events of each. */
export const webhooksPage: Page = {
  path: /^\/webhooks$/,
  entry: {
    ...webhookList,
    group: "Project",
    icon: "M2.5 8.5h3l2-5 2 9 2-5h2",
  },
  needs: "list_keys",
  show,
};

async function show({ account, url }: Visit): Promise<Reply> {
  const answer = await account.admin.listWebhooks();
  const webhooks = answer.kind === "done" ? answer.result.webhooks : [];
  const isLate = answer.kind === "done" && !answer.result.delivers;
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
      ${account.mayUse("change_keys") ? make : ""}
    </div>
    ${renderNote(url)} ${renderFault(failed)} ${isLate ? late : ""} ${renderFixes(webhooks)}
    <p class="soft">
      Waypost sends events of this project to your programs. Messages are signed according to
      Standard Webhooks.
    </p>
    ${webhooks.length === 0 ? none : card}`;
  return { kind: "page", title: "Webhooks", body };
}

/** A stdio process has a console, but delivers no events. */
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

function renderRow(webhook: ListedWebhook, account: Account): Html {
  const { id, url, events, waiting, dead } = webhook;
  const last = renderLast(webhook, account);
  return html`<tr>
    <td>
      <a class="line" href="/webhooks/${encodeURIComponent(id)}">
        <bdi>${shorten(url, mostShown)}</bdi>
      </a>
      <span class="granted">${events.join(", ")}</span>
      <span class="line soft early">${last}</span>
    </td>
    <td class="late soft">${last}</td>
    <td class="number late">${waiting}</td>
    <td class="number">${dead}</td>
  </tr>`;
}

/** How to fix what keeps receivers from accepting messages, once for all of them. */
export function renderFixes(webhooks: readonly ListedWebhook[]): readonly Html[] {
  const fixes = new Set(webhooks.flatMap(({ fix }) => fix ?? []));
  return [...fixes].map((fix) => html`<p class="note">${fix}.</p>`);
}

/** The result of the last attempt, and its time. */
export function renderLast(
  { last_at, last_fault }: ListedWebhook,
  account: Account,
): Html | string {
  if (last_at === null) return "nothing sent yet";
  const result = last_fault === null ? "delivered" : `failed: ${last_fault}`;
  return html`${result}, ${renderTime(last_at, account)}`;
}
