import { randomUUID } from "node:crypto";
import type { IssuedKey } from "../../admin/keys.ts";
import { faultOf } from "../../contract/problem.ts";
import { roles, scopes, type Role } from "../../contract/scopes-and-roles.ts";
import { describeKeyAccess } from "../../text/name-key.ts";
import type { Failure } from "../account.ts";
import { act } from "../act.ts";
import { readTyped, renderField, renderGuard, renderOthers, type Field } from "../form-fields.ts";
import { html, type Html } from "../html.ts";
import type { Form, Page, Reply, Visit } from "../page.ts";
import { renderHead, renderHidden, showMadeBefore, showSecret } from "../parts.ts";
import { keyList } from "./keys.ts";

/** A form for a new key, and the one page that shows it. */
export const newKeyPage: Page = {
  path: /^\/keys\/new$/,
  needs: "change_keys",
  show: (visit) => show(visit, visit.kept),
  submit: make,
};

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
  const rendered = fields.map((field) => renderField(field, values, failure?.problems));
  const body = html`${renderHead("New key", keyList)}
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
          ${renderOthers(fields, failure)}
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
  const role = roles.find((name) => name === form.read("role"));
  const chosen = listScopes(form);
  const granted = scopes.filter((name) => chosen.includes(name));
  const isFull = form.read("access") === "full";
  const problems = [
    ...(role === undefined ? [faultOf("role", `must be one of ${roles.join(", ")}`)] : []),
    ...(granted.length < new Set(chosen).size
      ? [{ field: "access", message: "Scopes is invalid" }]
      : []),
    ...(isFull === granted.length > 0 ? [{ field: "access", message: isFull ? both : none }] : []),
  ];
  if (role === undefined || problems.length > 0) {
    return show(visit, form, { code: "422", message: "", problems });
  }
  const request = { role, scopes: granted, once: form.read("once") };
  const ended = await act(visit, form, { run: () => visit.account.admin.createKey(request) });
  if (ended.kind === "reply") return ended.reply;
  if (ended.kind === "done") return showOnce(ended.result);
  const { failure } = ended;
  if (failure.code !== "409") return show(visit, form, failure);
  return showMadeBefore("Key already created", failure.message, keyList);
}

const both = "You selected scopes. Choose “Only the selected scopes”, or clear the selection.";
/** An empty list would grant everything. */
const none =
  "Scopes can't be blank: choose at least one scope, or “Everything that the role allows”";

function showOnce({ token, role: granted, scopes: limits }: IssuedKey): Reply {
  return showSecret({
    title: "Your new key",
    label: "Key",
    lead: "Copy it now. Waypost does not show it again.",
    id: "token",
    secret: token,
    facts: [
      ["Access", describeKeyAccess(granted, limits)],
      ["Use it in", html`<code>Authorization: Bearer</code>, or in <code>WAYPOST_API_KEY</code>`],
    ],
    list: keyList,
  });
}
