import { randomUUID } from "node:crypto";
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
import { renderHead, renderHidden, showMadeBefore, showSecret } from "../parts.ts";
import { webhookList } from "./webhooks.ts";

/** A form for a new webhook, and the one page that shows its secret. */
export const newWebhookPage: Page = {
  path: /^\/webhooks\/new$/,
  needs: "change_keys",
  show: (visit) => show(visit, visit.kept),
  submit: make,
};

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
  const body = html`${renderHead("New webhook", webhookList)}
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
  const url = form.read("url").trim();
  const request = { url, events: listEvents(form), once: form.read("once") };
  const ended = await act(visit, form, { run: () => visit.account.admin.createWebhook(request) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") {
    const { failure } = ended;
    if (failure.code !== "409") return show(visit, form, failure);
    return showMadeBefore("Webhook already created", failure.message, webhookList);
  }
  return showSecret({
    title: "Your new webhook",
    label: "Webhook",
    lead: "Copy the secret now. Waypost signs messages with it and does not show it again.",
    id: "secret",
    secret: ended.result.secret,
    facts: [["Events", ended.result.events.join(", ")]],
    list: webhookList,
  });
}
