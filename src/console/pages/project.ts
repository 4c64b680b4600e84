import type { TypedSettings } from "../../admin/projects.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Account, Answer, Failure, Found } from "../account.ts";
import { act } from "../act.ts";
import {
  readValues,
  renderField,
  renderGuard,
  renderOthers,
  renderShown,
  writeFields,
  type Field,
} from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import {
  renderCopy,
  renderFault,
  renderHead,
  renderHidden,
  renderNote,
  tellGone,
} from "../parts.ts";
import { readNumber, readParam, readText } from "../read.ts";
import { renderHistory } from "../render-changes.ts";
import {
  hasTyped,
  readForm,
  readSent,
  saveChanged,
  showUnread,
  type Again,
} from "../save-changed.ts";
import {
  projectFields,
  projectList,
  settingFields,
  writeProjectAddress,
} from "./project-fields.ts";

/** One project: its fields, what its operator has set, how it gets keys, and its end. */

/** One of the two forms: the API knows the fields of the first alone. */
type Part = {
  readonly heading: string;
  readonly fields: readonly Field[];
  readonly tool: string;
  /** Behind the address of the project. */
  readonly suffix: string;
  readonly read: (id: string, account: Account) => Promise<Found | undefined>;
  readonly save: (id: string, changes: JsonObject, account: Account) => Promise<Answer<unknown>>;
};

const own: Part = {
  heading: "Project",
  fields: projectFields,
  tool: "update_project",
  suffix: "",
  read: (id, account) => account.readRecord("project", id),
  save: (id, changes, account) => account.call("update_project", { id, ...changes }),
};

const settings: Part = {
  heading: "Settings",
  fields: settingFields,
  tool: "update_project_settings",
  suffix: "/settings",
  read: async (id, account) => {
    if (!account.mayUse("get_project_settings")) return undefined;
    const answer = await account.admin.readProjectSettings(id);
    if (answer.kind === "done") return answer;
    return answer.kind === "failed" && answer.failure.code !== "404" ? answer : undefined;
  },
  save: (id, changes, account) => account.admin.updateProjectSettings(id, writeSettings(changes)),
};

/** An empty list of hosts allows them all. */
function writeSettings(changes: JsonObject): TypedSettings {
  const isAny = changes["destinations"] === "";
  return { ...changes, ...(isAny && { destinations: "any" }) };
}

const idPattern = "/projects/(?<id>[^/]+)";

export const projectPage: Page = {
  path: new RegExp(`^${idPattern}$`),
  needs: "get_project",
  show: (visit) => show(visit, { part: own, again: {} }),
  submit: (visit, form) => save(visit, form, own),
};

export const projectSettingsPage: Page = {
  path: new RegExp(`^${idPattern}/settings$`),
  needs: "update_project_settings",
  show: (visit) => show(visit, { part: settings, again: {} }),
  submit: (visit, form) => save(visit, form, settings),
};

export const deleteProjectPage: Page = {
  path: new RegExp(`^${idPattern}/delete$`),
  needs: "delete_project",
  // Whoever opens the address alone has not pressed anything.
  show: ({ params }) =>
    Promise.resolve({ kind: "go", to: writeProjectAddress(readParam(params, "id")) }),
  submit: remove,
};

/** A change of settings belongs to the history of the project, which a master key cannot read. */
const noChanges =
  "No changes with a master key yet. To see all changes, sign in with a key of this project.";

const gone = tellGone({
  thing: "project",
  why: "It was deleted, or the address is wrong.",
  list: "projects",
  address: "/projects",
});

/** Which of the forms was sent, and what it shows again. */
type Sent = { readonly part: Part; readonly again: Again; readonly fault?: string };

async function show(visit: Visit, sent: Sent): Promise<Reply> {
  const { account, params, formToken, url } = visit;
  const id = readParam(params, "id");
  const [found, set] = await Promise.all([own.read(id, account), settings.read(id, account)]);
  if (found?.kind === "failed") return showFailed(visit, sent, found.failure);
  if (found === undefined) return gone;
  if (set?.kind === "failed") return showFailed(visit, sent, set.failure);
  const record = found.result;
  const title = readText(record, "name") || readText(record, "subdomain");
  const beside = account.mayUse("delete_project")
    ? html`<form method="post" action="${writeProjectAddress(id)}/delete">
        ${renderHidden("form_token", formToken)}<button class="grave">Delete…</button>
      </form>`
    : "";
  const body = html`${renderHead(title, projectList, beside)} ${renderNote(url)}
    ${renderFault(sent.fault)}
    <div class="columns">
      <div class="column">
        ${renderPart(own, record, visit, sent)}
        ${set === undefined ? "" : renderPart(settings, set.result, visit, sent)}
      </div>
      <div class="column">${await renderSide(visit, record)}</div>
    </div>`;
  const isRefused = sent.again.failure !== undefined || sent.fault !== undefined;
  return { kind: "page", title, body, status: isRefused ? 422 : 200 };
}

/** What somebody has typed is there, also where the project cannot be read. */
function showFailed(visit: Visit, sent: Sent, why: Failure): Reply {
  const { part, again, fault } = sent;
  const failed = { ...sent, again: { ...again, failure: again.failure ?? why } };
  return showUnread({
    title: "Project",
    head: renderHead("Project", projectList),
    form: hasTyped(visit, again) ? renderPart(part, {}, visit, failed) : undefined,
    fault: fault ?? why.message,
  });
}

function renderPart(part: Part, record: JsonObject, visit: Visit, sent: Sent): Html {
  const { fields, heading, tool, suffix } = part;
  const isSent = sent.part === part;
  const again = isSent ? sent.again : {};
  // What was typed is of one of the forms.
  const of = isSent ? visit : { ...visit, kept: undefined };
  const { typed, was } = readForm(of, fields, readValues(fields, record), again);
  const rendered = fields.map((field) => renderField(field, typed, again.failure?.problems));
  const mayWrite = visit.account.mayUse(tool);
  const action = writeProjectAddress(readParam(visit.params, "id")) + suffix;
  const id = heading.toLowerCase();
  return html`<section class="card" aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    <div class="inside">
      <form method="post" action="${action}" class="stack" ${renderGuard(hasTyped(of, again))}>
        ${renderHidden("form_token", visit.formToken)} ${renderShown(fields, was)}
        ${renderOthers(fields, again.failure)}
        <fieldset ${mayWrite ? "" : "disabled"} class="pair" aria-labelledby="${id}">
          ${rendered}
        </fieldset>
        ${mayWrite ? html`<div class="buttons"><button class="main">Save</button></div>` : ""}
      </form>
    </div>
  </section>`;
}

async function renderSide(visit: Visit, project: JsonObject): Promise<Html> {
  const { account } = visit;
  const id = readText(project, "id");
  const subdomain = readText(project, "subdomain");
  const command = `waypost keys create --project ${subdomain}`;
  const keys = account.mayUse("get_project_settings")
    ? html`<section class="card" aria-labelledby="its-keys">
        <h2 id="its-keys">Keys</h2>
        <div class="inside">
          <p class="soft">
            A master key manages only projects. To manage this project's links, create a key on the
            machine that runs Waypost:
          </p>
          ${renderCopy(command, "make-key", "Copy the command")}
        </div>
      </section>`
    : "";
  return html`<section class="card" aria-labelledby="about">
      <h2 id="about">About</h2>
      <div class="inside">
        <dl class="facts">
          <div>
            <dt>Links</dt>
            <dd class="number">${readNumber(project, "links_count").toLocaleString("en")}</dd>
          </div>
          <div>
            <dt>ID</dt>
            <dd>${id}</dd>
          </div>
        </dl>
      </div>
    </section>
    ${keys} ${await renderHistory(visit, id, noChanges)}`;
}

async function save(visit: Visit, form: Form, part: Part): Promise<Reply> {
  const { account, params } = visit;
  const { fields, tool, read } = part;
  if (!account.mayUse(tool)) return gone;
  const id = readParam(params, "id");
  const found = await read(id, account);
  if (found === undefined) return gone;
  if (found.kind === "failed") {
    return showFailed(visit, { part, again: readSent(fields, form) }, found.failure);
  }
  const saved = await saveChanged(visit, form, {
    fields,
    save: (typed, names) => part.save(id, writeFields(fields, typed, names), account),
    now: readValues(fields, found.result),
    back: writeProjectAddress(id),
  });
  return saved.kind === "again" ? show(visit, { part, again: saved.again }) : saved;
}

async function remove(visit: Visit, form: Form): Promise<Reply> {
  const id = readParam(visit.params, "id");
  const back = writeProjectAddress(id);
  const ended = await act(visit, form, {
    run: () => visit.account.call("delete_project", { id }),
    back,
  });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "failed") {
    return show(visit, { part: own, again: {}, fault: ended.failure.message });
  }
  return { kind: "go", to: "/projects?done=closed" };
}
