import { writeLabel } from "../../text/write-label.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { Account } from "../account.ts";
import { readTyped, renderField, type Field } from "../form-fields.ts";
import { html, type Html, type Part } from "../html.ts";
import type { Form } from "../page.ts";
import { renderOption } from "../parts.ts";
import { listAppChoices, nameOther, renderOther } from "./app-choices.ts";
import { appKinds } from "./app-kinds.ts";
import { flagFields, textFields } from "./link-fields.ts";

/** The ways to change many links at once, as `plan_links` takes them, each with its own fields. */
export type Way = {
  readonly name: string;
  readonly title: string;
  readonly fields: Part;
};

/** A path belongs to one link, so it cannot be set for many. */
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

/** The arguments of the plan without those that select the links; undefined for an unknown way. */
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

/** All ways are in one form, so that the selected links are in it once. */
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
  // A typed name takes precedence over the choice.
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
  return renderPair(form, [
    chooseField("set", setFields),
    text("set", "value", "New value", "Leave this empty to clear the field."),
  ]);
}

function renderReplace(form: Form): Html {
  const match: Field = {
    name: nameField("replace", "match"),
    label: "Replace",
    kind: "choice",
    choices: [
      { value: "text", name: "Every occurrence of a text" },
      { value: "host", name: "The host of a web address" },
    ],
  };
  return renderPair(form, [
    chooseField("replace", ruledFields),
    match,
    text("replace", "from", "Old text"),
    text("replace", "to", "New text"),
  ]);
}

function renderQuery(form: Form): Html {
  return renderPair(form, [
    chooseField("query", addressFields),
    text("query", "name", "Parameter", "For example, utm_source."),
    text("query", "value", "Value"),
  ]);
}

function renderPrefix(form: Form): Html {
  const hint = "For example, spring/. The old addresses stop working.";
  const prefix = text("prefix", "prefix", "Prefix", hint);
  return renderField(prefix, readTyped([prefix], form));
}

function renderPair(form: Form, fields: readonly Field[]): Html {
  const values = readTyped(fields, form);
  return html`<div class="pair">${fields.map((field) => renderField(field, values))}</div>`;
}

function chooseField(way: string, names: readonly string[]): Field {
  const choices = names.map((name) => ({ value: name, name: writeLabel(name) }));
  return { name: nameField(way, "field"), label: "Field", kind: "choice", choices };
}

function text(way: string, name: string, label: string, hint = ""): Field {
  return { name: nameField(way, name), label, kind: "text", hint };
}

async function renderChoose(account: Account, form: Form): Promise<Part> {
  const chosen = form.read("choice");
  const apps = await listAppChoices(account, {});
  const options = [
    ...apps.map(({ kind: { name }, choices }) => {
      const label = writeLabel(name);
      const all = [...choices, { value: "", name: "none" }];
      const named = all.map((app) =>
        renderOption(`${name}:${app.value}`, `${label}: ${app.name}`, chosen),
      );
      return html`<optgroup label="${label}">${named}</optgroup>`;
    }),
    ...flagFields.map((name) => {
      const states = ["on", "off"].map((state) =>
        renderOption(`${name}:${state}`, `${writeLabel(name)}: ${state}`, chosen),
      );
      return html`<optgroup label="${writeLabel(name)}">${states}</optgroup>`;
    }),
  ];
  return html`<div class="field">
      <label for="choice">New value</label>
      <select id="choice" name="choice">
        ${options}
      </select>
    </div>
    ${apps.map((each) => renderOther(each, form.read(nameOther(each.kind.name))))}`;
}
