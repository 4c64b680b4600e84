import type { Failure } from "../account.ts";
import { act, leave, renderQuestion } from "../act.ts";
import { listChanged, renderGuard, type Values } from "../form-fields.ts";
import { html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderHidden, renderLinkHead } from "../parts.ts";
import { readRecord, readText } from "../read.ts";
import { markDraft, newId, renderNewPreview } from "./link-preview.ts";
import {
  hasDestination,
  linkFields,
  readTyped,
  readValues,
  renderFields,
  writeChanges,
} from "./link-fields.ts";

/** A form for a new link. */
export const newLinkPage: Page = {
  path: /^\/links\/new$/,
  needs: "create_link",
  show: (visit) => show(visit, visit.kept === undefined ? blank : readTyped(visit.kept)),
  submit: create,
};

const blank = readValues({});

async function show(visit: Visit, values: Values, failure?: Failure): Promise<Reply> {
  const { account, formToken } = visit;
  const fields = await renderFields({ account, values, failure });
  const preview = renderNewPreview(account);
  const guard = renderGuard(visit.kept !== undefined || failure !== undefined);
  const drafted = markDraft(account, newId, false);
  const section = html`<section class="card narrow" aria-label="Fields">
    <div class="inside">
      <form method="post" action="/links/new" class="stack" ${drafted} ${guard}>
        ${renderHidden("form_token", formToken)} ${fields}
        <div class="buttons">
          <button class="main">Create link</button>
          <a class="button quiet" href="/links">Cancel</a>
        </div>
      </form>
    </div>
  </section>`;
  const body = html`${renderLinkHead("New link")}
    <div class="columns">${section} ${preview}</div>`;
  const status = failure === undefined ? 200 : 422;
  return { kind: "page", title: "New link", body, status, hasFrames: preview !== "" };
}

async function create(visit: Visit, form: Form): Promise<Reply> {
  const typed = readTyped(form);
  const changed = listChanged(linkFields, blank, typed);
  if (!hasDestination(typed) && !form.has(anyway)) {
    return askToCreate(visit, form, changed.length > 0);
  }
  const args = writeChanges(typed, changed);
  const ended = await act(visit, form, { run: () => visit.account.call("create_link", args) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") return show(visit, typed, ended.failure);
  const id = readText(readRecord(ended.result, "link"), "id");
  return { kind: "go", to: `/links/${encodeURIComponent(id)}?done=created` };
}

const anyway = "anyway";
const notKept = new Set(["form_token", leave]);

/** A link without a destination is allowed, and mostly a mistake. */
function askToCreate(visit: Visit, form: Form, isTyped: boolean): Reply {
  const title = "This link has no destination. Create it anyway?";
  const kept = form.entries.filter(([name]) => !notKept.has(name));
  const question = {
    id: "",
    title,
    button: "Create it anyway",
    destroys: false,
    facts: String(
      html`<p>It has no web address, app or fallback. You can add a destination later.</p>`,
    ),
    frames: "",
    rows: "",
    count: undefined,
    pin: undefined,
    blocked: undefined,
  };
  const hidden = [...kept, [anyway, "1"] as const];
  const noLabel = "Back to the form";
  const body = html`${renderLinkHead(title)}
  ${renderQuestion({ question, visit, hidden, no: leave, noLabel, isTyped })}`;
  return { kind: "page", title: "New link", body };
}
