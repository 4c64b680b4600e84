import type { DeadEvent, ListedWebhook } from "../../admin/webhooks.ts";
import type { Account } from "../account.ts";
import { act } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import {
  renderFacts,
  renderFault,
  renderHead,
  renderNote,
  renderPost,
  renderTable,
  tellDone,
} from "../parts.ts";
import { readParam } from "../read.ts";
import { renderTime } from "../render-changes.ts";
import { renderFixes, renderLast, webhookList } from "./webhooks.ts";

/** One webhook: how its receiver does, what was given up, a message to try it, and its end. */
export const webhookPage: Page = {
  path: /^\/webhooks\/(?<id>[0-9a-f-]{36})$/,
  needs: "list_keys",
  show: (visit) => show(visit),
  submit,
};

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, params } = visit;
  const answer = await account.admin.showWebhook(readParam(params, "id"));
  if (answer.kind !== "done") return missing;
  const { webhook, dead } = answer.result;
  const body = html`${renderHead("Webhook", webhookList)} ${renderNote(visit.url)}
    ${renderFault(fault)} ${fault === undefined ? renderFixes([webhook]) : ""}
    <section class="card" aria-label="Webhook">
      <div class="inside">
        ${renderFacts(listFacts(webhook, account))}
        <div class="buttons">
          ${renderButton(visit, "test", html`<button>Send a test</button>`)}
          ${renderButton(visit, "revoke", html`<button class="grave">Revoke…</button>`)}
        </div>
      </div>
    </section>
    ${renderDead(visit, webhook.dead, dead)}`;
  return { kind: "page", title: "Webhook", body, status: fault === undefined ? 200 : 422 };
}

const missing: Reply = {
  kind: "page",
  title: "Not found",
  body: html`<h1>This webhook does not exist</h1>
    <p>It may have been revoked. <a href="/webhooks">View all webhooks</a></p>`,
  status: 404,
};

function listFacts(webhook: ListedWebhook, account: Account) {
  const { url, events, created_at, failing_since, waiting, dropped } = webhook;
  return [
    ["Web address", html`<bdi>${url}</bdi>`],
    ["Events", events.join(", ")],
    ["Created", renderTime(created_at, account)],
    ["Last attempt", renderLast(webhook, account)],
    ...(failing_since === null
      ? []
      : [["Failing since", renderTime(failing_since, account)] as const]),
    ["Waiting", waiting],
    ...(dropped === 0 ? [] : [["Dropped", describeDropped(dropped)] as const]),
  ] as const;
}

function describeDropped(count: number): string {
  const events = count === 1 ? "1 event" : `${count} events`;
  return `${events}, because more than 20 MB were waiting`;
}

function renderButton(visit: Visit, name: string, button: Html, eventId = ""): Html | string {
  if (!visit.account.mayUse("change_keys")) return "";
  const hidden = { act: name, ...(eventId !== "" && { event_id: eventId }) };
  return renderPost(visit, visit.url.pathname, button, hidden);
}

function renderDead(visit: Visit, count: number, dead: readonly DeadEvent[]): Html | string {
  if (count === 0) return "";
  const rows = dead.map((delivery) => renderRow(visit, delivery));
  const more =
    count > dead.length ? html`<p class="soft">The list shows the latest ${dead.length}.</p>` : "";
  return html`<section class="card" aria-labelledby="given-up">
    <h2 id="given-up">Failed events: ${count}</h2>
    <div class="inside stack">
      <p class="soft">
        Waypost retried these events for a day and keeps them for a week. If you send them again,
        they arrive after newer events.
      </p>
      ${more} ${renderButton(visit, "resend", html`<button>Send all again</button>`)}
    </div>
    ${renderTable("Failed events", columns, rows)}
  </section>`;
}

const columns = [
  { name: "Event" },
  { name: "Failed", look: "late" },
  { name: "Send again", look: "number" },
];

function renderRow(visit: Visit, dead: DeadEvent): Html {
  const { event_id, event, fault, attempts, given_up_at } = dead;
  const label = `Send ${event} ${event_id} again`;
  const again = html`<button class="small" aria-label="${label}">Send again</button>`;
  return html`<tr>
    <td>
      ${event}
      <span class="granted">${fault}, after ${attempts} attempts</span>
    </td>
    <td class="late soft">${renderTime(given_up_at, visit.account)}</td>
    <td class="number">${renderButton(visit, "resend", again, event_id)}</td>
  </tr>`;
}

async function submit(visit: Visit, form: Form): Promise<Reply> {
  const { admin } = visit.account;
  const id = readParam(visit.params, "id");
  const back = visit.url.pathname;
  switch (form.read("act")) {
    case "revoke": {
      const ended = await act(visit, form, { run: () => admin.revokeWebhook(id), back });
      if (ended.kind === "reply") return ended.reply;
      if (ended.kind === "failed") return show(visit, ended.failure.message);
      return { kind: "go", to: "/webhooks?done=webhook_revoked" };
    }
    case "resend": {
      const answer = await admin.resendEvents(id, form.read("event_id"));
      if (answer.kind === "failed") return show(visit, answer.failure.message);
      return { kind: "go", to: tellDone(back, "webhook_resent") };
    }
    default: {
      const answer = await admin.testWebhook(id);
      if (answer.kind !== "done") {
        return show(visit, answer.kind === "failed" ? answer.failure.message : undefined);
      }
      const { fault, next } = answer.result;
      if (fault === null) return { kind: "go", to: tellDone(back, "webhook_tested") };
      return show(visit, `The test failed: ${fault}${next === undefined ? "" : `. ${next}`}.`);
    }
  }
}
