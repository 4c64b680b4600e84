import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../contract/json.ts";
import { scopes, type Role } from "../../contract/scopes-and-roles.ts";
import type { Failure, FieldProblem } from "../account.ts";
import { act } from "../act.ts";
import { readTyped, renderField, renderGuard, renderOthers, type Field } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderCopy, renderHead, renderHidden } from "../parts.ts";
import { readRecord, readText } from "../read.ts";
import { describeAccess } from "./keys.ts";

/** A form for a new key, and the one page that shows it. */
export const newKeyPage: Page = {
  path: /^\/keys\/new$/,
  needs: "make_key",
  show: (visit) => show(visit, visit.kept),
  submit: make,
};

const list = { name: "Keys", address: "/keys" };

const role: Field = {
  name: "role",
  kind: "choice",
  hint: "A viewer reads links and apps. A manager also changes them. An owner may do everything.",
  choices: [
    { value: "viewer", name: "Viewer" },
    { value: "manager", name: "Manager" },
    { value: "owner", name: "Owner" },
  ] satisfies readonly { readonly value: Role; readonly name: string }[],
};
const access: Field = {
  name: "access",
  label: "Access",
  kind: "choice",
  choices: [
    { value: "full", name: "Everything that the role allows" },
    { value: "limited", name: "Only the selected scopes" },
  ],
};
const fields = [role, access];
const usual = { role: "manager", access: "full" };

function show(visit: Visit, typed: Form | undefined, failure?: Failure): Promise<Reply> {
  const values = typed === undefined ? usual : readTyped(fields, typed);
  const placed = failure && { ...failure, problems: failure.problems?.map(placeProblem) };
  const rendered = fields.map((field) => renderField(field, values, placed?.problems));
  const body = html`${renderHead("New key", list)}
    <section class="card narrow" aria-label="Key">
      <div class="inside">
        <form
          method="post"
          action="/keys/new"
          class="stack key"
          ${renderGuard(typed !== undefined)}
        >
          ${renderHidden("form_token", visit.formToken)}
          ${renderHidden("once", typed?.read("once") || randomUUID())}
          ${renderOthers(fields, placed)}
          <div class="pair">${rendered}</div>
          ${renderScopes(listScopes(typed))}
          <div class="buttons">
            <button class="main">Create key</button>
            <a class="button quiet" href="/keys">Cancel</a>
          </div>
        </form>
      </div>
    </section>`;
  const status = failure === undefined ? 200 : 422;
  return Promise.resolve({ kind: "page", title: "New key", body, status });
}

function placeProblem({ field, message }: FieldProblem): FieldProblem {
  return { message, field: field === "scopes" ? access.name : field };
}

/** What each begins with, as a heading. */
const groups = [...new Set(scopes.map((name) => name.split(".", 1)[0] ?? ""))];
const headings: Readonly<Record<string, string>> = {
  links: "Links",
  short_links: "Short links",
  ios_apps: "iOS apps",
  android_apps: "Android apps",
  page_templates: "Page template",
};
/** As a person calls what the API calls otherwise. */
const acts: Readonly<Record<string, string>> = {
  index: "list",
  show: "read",
  update: "change",
  destroy: "delete",
};

function renderScopes(chosen: readonly string[]): Html {
  const boxes = groups.map(
    (group) =>
      html`<div role="group" aria-labelledby="of-${group}" class="scopes">
        <p id="of-${group}">${headings[group] ?? group}</p>
        ${scopes
          .filter((name) => name.startsWith(`${group}.`))
          .map((name) => renderBox(name, chosen.includes(name)))}
      </div>`,
  );
  return html`<div class="filters limits">${boxes}</div>`;
}

function renderBox(name: string, isOn: boolean): Html {
  const [, act_name = ""] = name.split(".");
  const checked = isOn ? html` checked` : "";
  return html`<div class="check">
    <input type="checkbox" id="${name}" name="scope" value="${name}" ${checked} />
    <label for="${name}">${acts[act_name] ?? act_name}</label>
  </div>`;
}

function listScopes(form: Form | undefined): readonly string[] {
  return form?.entries.flatMap(([name, value]) => (name === "scope" ? [value] : [])) ?? [];
}

async function make(visit: Visit, form: Form): Promise<Reply> {
  const chosen = listScopes(form);
  const isFull = form.read("access") === "full";
  if (isFull && chosen.length > 0) {
    const message =
      "You selected scopes. Choose “Only the selected scopes”, or clear the selection.";
    const problems = [{ field: access.name, message }];
    return show(visit, form, { code: "422", message, problems });
  }
  const args = {
    role: form.read("role"),
    ...(!isFull && { scopes: chosen }),
    once: form.read("once"),
  };
  const ended = await act(visit, form, { tool: "make_key", args });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "done") return showOnce(readRecord(ended.result, "key"));
  const { failure } = ended;
  return failure.code === "409" ? showMade(failure) : show(visit, form, failure);
}

/** Sent twice, or loaded again. */
function showMade({ message }: Failure): Reply {
  const body = html`${renderHead("Key already created", list)}
    <p>${message}</p>
    <p><a class="button" href="/keys">View all keys</a></p>`;
  return { kind: "page", title: "Key already created", body, status: 409 };
}

/** In no address, and on no page that is kept: whoever has not copied it makes another one. */
function showOnce(key: JsonObject): Reply {
  const body = html`${renderHead("Your new key", list)}
    <section class="card narrow" aria-label="Key">
      <div class="inside">
        <p class="note good" role="status">Copy it now. Waypost does not show it again.</p>
        <div data-once>${renderCopy(readText(key, "token"), "token", "Copy the key")}</div>
        <dl class="facts">
          <div>
            <dt>Access</dt>
            <dd>${describeAccess(key)}</dd>
          </div>
          <div>
            <dt>Use it in</dt>
            <dd><code>Authorization: Bearer</code>, or in <code>WAYPOST_API_KEY</code></dd>
          </div>
        </dl>
        <div class="buttons"><a class="button main" href="/keys">I have copied it</a></div>
      </div>
    </section>`;
  return { kind: "page", title: "Your new key", body };
}
