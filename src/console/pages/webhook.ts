import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { act } from "../act.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import {
  renderFault,
  renderHead,
  renderHidden,
  renderNote,
  renderTable,
  tellDone,
} from "../parts.ts";
import { readNumber, readParam, readRecord, readRecords, readText } from "../read.ts";
import { renderTime } from "../render-changes.ts";
import { describeEvents, renderLast, renderMends } from "./webhooks.ts";

/** One webhook: how its receiver does, what was given up, a message to try it, and its end. */
export const webhookPage: Page = {
  path: /^\/webhooks\/(?<id>[0-9a-f-]{36})$/,
  needs: "show_webhook",
  show: (visit) => show(visit),
  submit,
};

async function show(visit: Visit, fault?: string): Promise<Reply> {
  const { account, params } = visit;
  const answer = await account.call("show_webhook", { id: readParam(params, "id") });
  if (answer.kind !== "done") return missing;
  const webhook = readRecord(answer.result, "webhook");
  const dead = readRecords(answer.result, "dead");
  const body = html`${renderHead("Webhook", { name: "Webhooks", address: "/webhooks" })}
    ${renderNote(visit.url)} ${renderFault(fault)}
    ${fault === undefined ? renderMends([webhook]) : ""}
    <section class="card" aria-label="Webhook">
      <div class="inside">
        <dl class="facts">
          ${listFacts(webhook, account).map(
            ([name, text]) =>
              html`<div>
                <dt>${name}</dt>
                <dd>${text}</dd>
              </div>`,
          )}
        </dl>
        <div class="buttons">
          ${renderButton(visit, "test_webhook", "test", "Send a test")}
          ${renderButton(visit, "revoke_webhook", "revoke", "Revoke…", "grave")}
        </div>
      </div>
    </section>
    ${renderDead(visit, readNumber(webhook, "dead"), dead)}`;
  return { kind: "page", title: "Webhook", body, status: fault === undefined ? 200 : 422 };
}

const missing: Reply = {
  kind: "page",
  title: "Not found",
  body: html`<h1>This webhook does not exist</h1>
    <p>It may have been revoked. <a href="/webhooks">View all webhooks</a></p>`,
  status: 404,
};

function listFacts(
  webhook: JsonObject,
  account: Account,
): readonly (readonly [string, Html | string])[] {
  const failing = renderTime(readText(webhook, "failing_since"), account);
  const dropped = readNumber(webhook, "dropped");
  return [
    ["Web address", html`<bdi>${readText(webhook, "url")}</bdi>`],
    ["Events", describeEvents(webhook)],
    ["Created", renderTime(readText(webhook, "created_at"), account)],
    ["Last attempt", renderLast(webhook, account)],
    ...(failing === "" ? [] : [["Failing since", failing] as const]),
    ["Waiting", String(readNumber(webhook, "waiting"))],
    ...(dropped === 0 ? [] : [["Dropped", describeDropped(dropped)] as const]),
  ];
}

function describeDropped(count: number): string {
  const events = count === 1 ? "1 event" : `${count} events`;
  return `${events}, because more than 20 MB were waiting`;
}

function renderButton(
  { account, url, formToken }: Visit,
  tool: string,
  act_name: string,
  text: string,
  look = "",
): Html | string {
  if (!account.mayUse(tool)) return "";
  return html`<form method="post" action="${url.pathname}">
    ${renderHidden("form_token", formToken)} ${renderHidden("act", act_name)}
    <button class="${look}">${text}</button>
  </form>`;
}

function renderDead(visit: Visit, count: number, dead: readonly JsonObject[]): Html | string {
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
      ${more} ${renderButton(visit, "resend_webhook", "resend", "Send all again")}
    </div>
    ${renderTable("Failed events", columns, rows)}
  </section>`;
}

const columns = [
  { name: "Event" },
  { name: "Failed", look: "late" },
  { name: "Send again", look: "number" },
];

function renderRow(visit: Visit, delivery: JsonObject): Html {
  const id = readText(delivery, "event_id");
  const event = readText(delivery, "event");
  const again = html`<form method="post" action="${visit.url.pathname}">
    ${renderHidden("form_token", visit.formToken)} ${renderHidden("act", "resend")}
    ${renderHidden("event_id", id)}
    <button class="small" aria-label="Send ${event} ${id} again">Send again</button>
  </form>`;
  return html`<tr>
    <td>
      ${event}
      <span class="granted"
        >${readText(delivery, "fault")}, after ${readNumber(delivery, "attempts")} attempts</span
      >
    </td>
    <td class="late soft">${renderTime(readText(delivery, "given_up_at"), visit.account)}</td>
    <td class="number">${visit.account.mayUse("resend_webhook") ? again : ""}</td>
  </tr>`;
}

async function submit(visit: Visit, form: Form): Promise<Reply> {
  const id = readParam(visit.params, "id");
  const back = visit.url.pathname;
  const wanted = form.read("act");
  if (wanted === "revoke") {
    const ended = await act(visit, form, { tool: "revoke_webhook", args: { id }, back });
    if (ended.kind === "reply") return ended.reply;
    if (ended.kind === "failed") return show(visit, ended.failure.message);
    return { kind: "go", to: "/webhooks?done=webhook_revoked" };
  }
  const resends = wanted === "resend";
  const args = resends ? { id, event_id: form.read("event_id") } : { id };
  const answer = await visit.account.call(resends ? "resend_webhook" : "test_webhook", args);
  if (answer.kind !== "done") {
    return show(visit, answer.kind === "failed" ? answer.failure.message : undefined);
  }
  if (resends) return { kind: "go", to: tellDone(back, "webhook_resent") };
  const tested = readRecord(answer.result, "test");
  const causes = [readText(tested, "fault"), readText(tested, "next")].filter(
    (text) => text !== "",
  );
  if (causes.length > 0) return show(visit, `The test failed: ${causes.join(". ")}.`);
  return { kind: "go", to: tellDone(back, "webhook_tested") };
}
