import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../contract/json.ts";
import { webhookEvents } from "../../contract/webhook-events.ts";
import type { Failure, FieldProblem } from "../account.ts";
import { act } from "../act.ts";
import {
  describeBy,
  readTyped,
  renderFaults,
  renderField,
  renderGuard,
  renderOthers,
  type Field,
} from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderCopy, renderHead, renderHidden } from "../parts.ts";
import { readRecord, readText } from "../read.ts";
import { describeEvents } from "./webhooks.ts";

/** A form for a new webhook, and the one page that shows its secret. */
export const newWebhookPage: Page = {
  path: /^\/webhooks\/new$/,
  needs: "make_webhook",
  show: (visit) => show(visit, visit.kept),
  submit: make,
};

const list = { name: "Webhooks", address: "/webhooks" };

const address: Field = {
  name: "url",
  kind: "text",
  label: "Web address",
  hint:
    "An https address, or an http address in a network listed in --webhook-private. " +
    "It receives data about every link of this project.",
  isBroad: true,
  isExact: true,
};

/** Its boxes are drawn here. */
const events: Field = { name: "events", kind: "choice" };

function show(visit: Visit, typed: Form | undefined, failure?: Failure): Promise<Reply> {
  const values = typed === undefined ? {} : readTyped([address], typed);
  const guard = renderGuard(typed !== undefined);
  const problems = failure?.problems ?? [];
  const chosen = typed === undefined ? webhookEvents : listEvents(typed);
  const body = html`${renderHead("New webhook", list)}
    <section class="card narrow" aria-label="Webhook">
      <div class="inside">
        <form method="post" action="/webhooks/new" class="stack key" ${guard}>
          ${renderHidden("form_token", visit.formToken)}
          ${renderHidden("once", typed?.read("once") || randomUUID())}
          ${renderOthers([address, events], failure)} ${renderField(address, values, problems)}
          ${renderEvents(chosen, problems)}
          <div class="buttons">
            <button class="main">Create webhook</button>
            <a class="button quiet" href="/webhooks">Cancel</a>
          </div>
        </form>
      </div>
    </section>`;
  const status = failure === undefined ? 200 : 422;
  return Promise.resolve({ kind: "page", title: "New webhook", body, status });
}

function renderEvents(chosen: readonly string[], problems: readonly FieldProblem[]): Html {
  const boxes = webhookEvents.map((name) => {
    const checked = chosen.includes(name) ? html` checked` : "";
    return html`<div class="check">
      <input type="checkbox" id="${name}" name="event" value="${name}" ${checked} />
      <label for="${name}">${name}</label>
    </div>`;
  });
  const faults = renderFaults(events.name, problems);
  return html`<div class="filters limits">
    <div role="group" aria-labelledby="of-events" ${describeBy(faults.ids)} class="scopes">
      <p id="of-events">Events</p>
      ${boxes} ${faults.shown}
    </div>
  </div>`;
}

function listEvents(form: Form): readonly string[] {
  return form.entries.flatMap(([name, value]) => (name === "event" ? [value] : []));
}

async function make(visit: Visit, form: Form): Promise<Reply> {
  const args = { url: form.read("url"), events: listEvents(form), once: form.read("once") };
  const ended = await act(visit, form, { tool: "make_webhook", args });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "done") return showOnce(readRecord(ended.result, "webhook"));
  const { failure } = ended;
  return failure.code === "409" ? showMade(failure) : show(visit, form, failure);
}

/** Sent twice, or loaded again. */
function showMade({ message }: Failure): Reply {
  const body = html`${renderHead("Webhook already created", list)}
    <p>${message}</p>
    <p><a class="button" href="/webhooks">View all webhooks</a></p>`;
  return { kind: "page", title: "Webhook already created", body, status: 409 };
}

/** In no address, and on no page that is kept: whoever has not copied it makes another one. */
function showOnce(webhook: JsonObject): Reply {
  const body = html`${renderHead("Your new webhook", list)}
    <section class="card narrow" aria-label="Webhook">
      <div class="inside">
        <p class="note good" role="status">
          Copy the secret now. Waypost signs messages with it and does not show it again.
        </p>
        <div data-once>${renderCopy(readText(webhook, "secret"), "secret", "Copy the secret")}</div>
        <dl class="facts">
          <div>
            <dt>Events</dt>
            <dd>${describeEvents(webhook)}</dd>
          </div>
        </dl>
        <div class="buttons"><a class="button main" href="/webhooks">I have copied it</a></div>
      </div>
    </section>`;
  return { kind: "page", title: "Your new webhook", body };
}
