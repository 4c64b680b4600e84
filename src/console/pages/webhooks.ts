import type { DeadEvent, ListedWebhook } from "../../admin/webhooks.ts";
import { webhookEvents } from "../../contract/webhook-events.ts";
import type { Account, ChangeResult } from "../account.ts";
import { act } from "../act.ts";
import { splitLines, type Field } from "../form-fields.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Form, Page, Reply, PageRequest } from "../page.ts";
import {
  addNote,
  countThings,
  renderBox,
  renderCard,
  renderFacts,
  renderPost,
  renderTable,
  shorten,
  showMissing,
  type RowColumn,
} from "../parts.ts";
import { readParam } from "../read-address.ts";
import { createNewPage, showSecret } from "../record-page.ts";
import { renderTime } from "../render-changes.ts";

/** Lists and creates the project's webhooks, and resends their failed events. */

const list = { name: "Webhooks", address: "/webhooks" };

const webhooksPage: Page = {
  path: /^\/webhooks$/,
  entry: {
    ...list,
    group: "Project",
    icon: "M2.5 8.5h3l2-5 2 9 2-5h2",
  },
  needs: "list_keys",
  show: showList,
};

const webhookPage: Page = {
  path: /^\/webhooks\/(?<id>[0-9a-f-]{36})$/,
  needs: "list_keys",
  show: (request) => show(request),
  submit,
};

const fields: readonly Field[] = [
  {
    name: "url",
    kind: "text",
    label: "Web address",
    hint:
      "An https address, or an http address in a network listed in --webhook-private. " +
      "It receives data about every link of this project.",
    isBroad: true,
    isExact: true,
  },
  {
    name: "event",
    kind: "checks",
    member: "events",
    groups: [
      {
        value: "events",
        name: "Events",
        choices: webhookEvents.map((name) => ({ value: name, name })),
      },
    ],
  },
];

const newWebhookPage = createNewPage({
  label: "webhook",
  address: "/webhooks/new",
  needs: "change_keys",
  list,
  button: "Create webhook",
  fields,
  usual: { event: webhookEvents.join("\n") },
  makesOnlyOne: true,
  run: ({ account }, { url = "", event }, _, once) =>
    account.admin.createWebhook({ url: url.trim(), events: splitLines(event), once }),
  done: ({ secret, events }) => showSecret("secret", secret, list, [["Events", events.join(", ")]]),
});

export const webhookPages: readonly Page[] = [webhooksPage, newWebhookPage, webhookPage];

async function showList({ account }: PageRequest): Promise<Reply> {
  const answer = await account.admin.listWebhooks();
  const { webhooks, delivers } =
    answer.kind === "done" ? answer.result : { webhooks: [], delivers: true };
  return {
    kind: "page",
    title: "Webhooks",
    actions:
      account.mayUse("change_keys") &&
      html`<a class="button main" href="/webhooks/new">New webhook</a>`,
    fault: answer.kind === "failed" && answer.failure.message,
    body: html`${!delivers && notDelivering} ${renderFixes(webhooks)}
      <p class="soft">
        Waypost sends events of this project to your programs. Messages are signed according to
        Standard Webhooks.
      </p>
      ${
        webhooks.length === 0
          ? html`<p>No webhooks yet.</p>`
          : renderBox("Webhooks", {
              below: renderTable("Webhooks", listColumns(account), webhooks),
            })
      }`,
  };
}

/** Shown in a stdio process. Such a process has a console but delivers no events. */
const notDelivering = html`<p class="note">
  Only <code>waypost serve</code> sends messages. This console belongs to another process. Events
  wait while <code>waypost serve</code> is not running.
</p>`;

const mostShown = 100;

function listColumns(account: Account): readonly RowColumn<ListedWebhook>[] {
  return [
    {
      name: "Address",
      cell: (webhook) =>
        html`<a class="line" href="/webhooks/${encodeURIComponent(webhook.id)}">
            <bdi>${shorten(webhook.url, mostShown)}</bdi>
          </a>
          <span class="granted">${webhook.events.join(", ")}</span>
          <span class="line soft early">${renderLast(webhook, account)}</span>`,
    },
    { name: "Last attempt", look: "late soft", cell: (webhook) => renderLast(webhook, account) },
    { name: "Waiting", look: "number slim late", cell: ({ waiting }) => waiting },
    { name: "Failed", look: "number slim", cell: ({ dead }) => dead },
  ];
}

/** Shows each fix once, even if several webhooks need it. */
function renderFixes(webhooks: readonly ListedWebhook[]): readonly Html[] {
  const fixes = new Set(webhooks.flatMap(({ fix }) => fix ?? []));
  return [...fixes].map((fix) => html`<p class="note">${fix}.</p>`);
}

function renderLast({ last_at, last_fault }: ListedWebhook, account: Account): Part {
  if (last_at === null) return "nothing sent yet";
  const result = last_fault === null ? "delivered" : `failed: ${last_fault}`;
  return html`${result}, ${renderTime(last_at, account)}`;
}

async function show(request: PageRequest, fault?: string): Promise<Reply> {
  const { account, params } = request;
  const answer = await account.admin.showWebhook(readParam(params, "id"));
  if (answer.kind !== "done") return showMissing("webhook", "It may have been revoked.", list);
  const { webhook, dead } = answer.result;
  const inside = html`${renderFacts(listFacts(webhook, account))}
    <div class="buttons">
      ${renderButton(request, "test", html`<button>Send a test</button>`)}
      ${renderButton(request, "revoke", html`<button class="grave">Revoke…</button>`)}
    </div>`;
  return {
    kind: "page",
    title: "Webhook",
    above: list,
    fault,
    body: html`${fault === undefined && renderFixes([webhook])} ${renderBox("Webhook", { inside })}
    ${webhook.dead > 0 && renderDead(request, webhook.dead, dead)}`,
  };
}

function listFacts(webhook: ListedWebhook, account: Account) {
  const { url, events, created_at, failing_since, waiting, dropped } = webhook;
  const rows: readonly (readonly [name: string, text: Part, isShown?: boolean])[] = [
    ["Web address", html`<bdi>${url}</bdi>`],
    ["Events", events.join(", ")],
    ["Created", renderTime(created_at, account)],
    ["Last attempt", renderLast(webhook, account)],
    ["Failing since", renderTime(failing_since, account), failing_since !== null],
    ["Waiting", waiting],
    [
      "Dropped",
      `${countThings(dropped, "event")}, because more than 20 MB were waiting`,
      dropped > 0,
    ],
  ];
  return rows.flatMap(([name, text, isShown = true]) => (isShown ? [[name, text] as const] : []));
}

function renderButton(request: PageRequest, name: string, button: Html, eventId = ""): Part {
  const { account, url } = request;
  const hidden = { act: name, ...(eventId !== "" && { event_id: eventId }) };
  return account.mayUse("change_keys") && renderPost(request, url.pathname, button, hidden);
}

function renderDead(request: PageRequest, count: number, dead: readonly DeadEvent[]) {
  const columns: readonly RowColumn<DeadEvent>[] = [
    {
      name: "Event",
      cell: ({ event, fault, attempts }) =>
        html`${event} <span class="granted">${fault}, after ${attempts} attempts</span>`,
    },
    {
      name: "Failed",
      look: "late soft",
      cell: ({ given_up_at }) => renderTime(given_up_at, request.account),
    },
    {
      name: "Send again",
      look: "number",
      cell: ({ event, event_id }) => {
        const label = `Send ${event} ${event_id} again`;
        const button = html`<button class="small" aria-label="${label}">Send again</button>`;
        return renderButton(request, "resend", button, event_id);
      },
    },
  ];
  return renderCard(`Failed events: ${count}`, {
    inside: html`<p class="soft">
        Waypost retried these events for a day and keeps them for a week. If you send them again,
        they arrive after newer events.
      </p>
      ${count > dead.length && html`<p class="soft">The list shows the latest ${dead.length}.</p>`}
      ${renderButton(request, "resend", html`<button>Send all again</button>`)}`,
    below: renderTable("Failed events", columns, dead),
  });
}

function submit(request: PageRequest, form: Form): Promise<Reply> {
  const { admin } = request.account;
  const id = readParam(request.params, "id");
  const back = request.url.pathname;
  const run = <Result>(
    work: () => Promise<ChangeResult<Result>>,
    done: (result: Result) => Reply | Promise<Reply>,
  ) =>
    act(request, form, { run: work, back, done, failed: ({ message }) => show(request, message) });
  switch (form.read("act")) {
    case "revoke":
      return run(
        () => admin.revokeWebhook(id),
        () => ({ kind: "go", to: addNote(list.address, "webhook_revoked") }),
      );
    case "resend":
      return run(
        () => admin.resendEvents(id, form.read("event_id")),
        () => ({ kind: "go", to: addNote(back, "webhook_resent") }),
      );
    default:
      return run(
        () => admin.testWebhook(id),
        ({ fault, next }) => {
          if (fault === null) return { kind: "go", to: addNote(back, "webhook_tested") };
          const advice = next === undefined ? "" : `. ${next}`;
          return show(request, `The test failed: ${fault}${advice}.`);
        },
      );
  }
}
