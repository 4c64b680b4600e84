import { writeLabel } from "../../text/write-label.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { html, type Html } from "../html.ts";
import type { Form } from "../page.ts";
import { renderOption } from "../parts.ts";
import { listAppChoices, nameOther, renderOther, type AppChoices } from "./app-choices.ts";
import { appKinds } from "./app-kinds.ts";
import { flagFields, textFields } from "./link-fields.ts";

/** What can become of many links at once, as `plan_links` takes it, each by fields of its own. */
export type Way = {
  readonly name: string;
  readonly title: string;
  readonly fields: Html | string;
};

/** The same text for many would be no path, and a name tells one from another. */
const setFields = textFields.filter((name) => name !== "path").toSorted(compareUrlFirst);
const addressFields = textFields.filter((name) => /(^|_)url$/.test(name));
const ruledFields = ["url", ...textFields.filter((name) => name !== "url")];

function compareUrlFirst(one: string, other: string): number {
  return Number(other === "url") - Number(one === "url");
}

export async function listWays(account: Account, form: Form): Promise<readonly Way[]> {
  const deletion: Way = {
    name: "delete",
    title: "Delete them",
    fields: html`<p>
      Deleted links stay in the bin for 30 days. You can restore them from there.
    </p>`,
  };
  const changes: readonly Way[] = [
    { name: "set", title: "Set a field", fields: renderSet(form) },
    {
      name: "choose",
      title: "Choose an app, or turn an option on or off",
      fields: await renderChoose(account, form),
    },
    {
      name: "replace",
      title: "Replace part of a field",
      fields: renderReplace(form),
    },
    {
      name: "query",
      title: "Add a query parameter to web addresses",
      fields: renderQuery(form),
    },
    {
      name: "prefix",
      title: "Add a prefix to paths",
      fields: renderPrefix(form),
    },
  ];
  return [
    ...(account.mayUse("update_link") ? changes : []),
    ...(account.mayUse("delete_link") ? [deletion] : []),
  ];
}

/** The arguments of the plan, beside those that name the links; undefined for no way of these. */
export function planWay(way: string, form: Form): JsonObject | undefined {
  const read = (name: string) => form.read(nameField(way, name));
  const field = read("field");
  switch (way) {
    case "set":
      return update({ changes: { [field]: read("value").replaceAll("\r\n", "\n") } });
    case "choose":
      return update({ changes: readChoice(form) });
    case "replace": {
      const match = readMatch(form);
      return update({ replace: [{ field, from: read("from"), to: read("to"), match }] });
    }
    case "query":
      return update({ add_query: { field, values: { [read("name")]: read("value") } } });
    case "prefix":
      return update({ path_prefix: read("prefix") });
    case "delete":
      return { operation: "delete" };
    default:
      return undefined;
  }
}

/** All ways stand in one form, so that the links that were chosen stand there once. */
function nameField(way: string, name: string): string {
  return `${way}-${name}`;
}

function readMatch(form: Form): "host" | "text" {
  return form.read(nameField("replace", "match")) === "host" ? "host" : "text";
}

function update(by: JsonObject): JsonObject {
  return { operation: "update", ...by };
}

/** `ios_app:ID`, or `ios_app:` for none; `enable_forced_redirect:on`. */
function readChoice(form: Form): JsonObject {
  // What is typed counts before what is chosen.
  const typed = appKinds.flatMap(({ name }) => {
    const id = form.read(nameOther(name)).trim();
    return id === "" ? [] : [[name, { id }] as const];
  });
  if (typed.length > 0) return Object.fromEntries(typed);
  const [, field = "", value = ""] = /^(\w+):([^]*)$/.exec(form.read("choice")) ?? [];
  if (flagFields.includes(field)) return { [field]: value === "on" };
  return { [field]: value === "" ? null : { id: value } };
}

function renderSet(form: Form): Html {
  return html`<div class="pair">
    ${renderFieldChoice("set", setFields, form)}
    ${renderText("set", "value", "New value", form, "Leave this empty to clear the field.")}
  </div>`;
}

function renderReplace(form: Form): Html {
  const match = nameField("replace", "match");
  return html`<div class="pair">
    ${renderFieldChoice("replace", ruledFields, form)}
    <div class="field">
      <label for="${match}">Replace</label>
      <select id="${match}" name="${match}">
        ${renderOption("text", "Every occurrence of a text", readMatch(form))}
        ${renderOption("host", "The host of a web address", readMatch(form))}
      </select>
    </div>
    ${renderText("replace", "from", "Old text", form)}
    ${renderText("replace", "to", "New text", form)}
  </div>`;
}

function renderQuery(form: Form): Html {
  return html`<div class="pair">
    ${renderFieldChoice("query", addressFields, form)}
    ${renderText("query", "name", "Parameter", form, "For example, utm_source.")}
    ${renderText("query", "value", "Value", form)}
  </div>`;
}

function renderPrefix(form: Form): Html {
  const hint = "For example, spring/. The old addresses stop working.";
  return renderText("prefix", "prefix", "Prefix", form, hint);
}

function renderFieldChoice(way: string, names: readonly string[], form: Form): Html {
  const id = nameField(way, "field");
  return html`<div class="field">
    <label for="${id}">Field</label>
    <select id="${id}" name="${id}">
      ${names.map((name) => renderOption(name, writeLabel(name), form.read(id)))}
    </select>
  </div>`;
}

function renderText(way: string, name: string, label: string, form: Form, hint = ""): Html {
  const id = nameField(way, name);
  const described = hint === "" ? "" : html` aria-describedby="${id}-hint"`;
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input
      id="${id}"
      name="${id}"
      value="${form.read(id)}"
      dir="auto"
      autocomplete="off"
      ${described}
    />${hint === "" ? "" : html`<p class="hint" id="${id}-hint">${hint}</p>`}
  </div>`;
}

async function renderChoose(account: Account, form: Form): Promise<Html> {
  const chosen = form.read("choice");
  const flags = flagFields.map(
    (name) =>
      html`<optgroup label="${writeLabel(name)}">
        ${renderOption(`${name}:on`, `${writeLabel(name)}: on`, chosen)}
        ${renderOption(`${name}:off`, `${writeLabel(name)}: off`, chosen)}
      </optgroup>`,
  );
  const listed = appKinds.map(({ name }) => listAppChoices(account, name, ""));
  const apps = (await Promise.all(listed)).filter((each) => each !== undefined);
  return html`<div class="field">
      <label for="choice">New value</label>
      <select id="choice" name="choice">
        ${apps.map((each) => renderApps(each, chosen))} ${flags}
      </select>
    </div>
    ${apps.map((each) => renderOther(each, form.read(nameOther(each.kind.name))))}`;
}

/** What the key may not list cannot be chosen. */
function renderApps({ kind, choices }: AppChoices, chosen: string): Html {
  const label = writeLabel(kind.name);
  const options = choices.map(({ value, name }) =>
    renderOption(`${kind.name}:${value}`, `${label}: ${name}`, chosen),
  );
  return html`<optgroup label="${label}">
    ${options} ${renderOption(`${kind.name}:`, `${label}: none`, chosen)}
  </optgroup>`;
}
